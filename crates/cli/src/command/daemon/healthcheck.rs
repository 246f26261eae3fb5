//! `toolcrib daemon healthcheck`: checks whether the daemon accepts calls.

use serde_json::json;

use crate::bootstrap;
use crate::daemon::client::{ApiRequest, Client, unreachable};
use crate::output::{self, Failure};

pub(crate) fn run(json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let client = Client::connect_required().await?;
        let reply = client.send(&ApiRequest::get("/readyz")).await?;
        if reply.status != 200 {
            return Err(unreachable(&reply.to_failure().message));
        }
        if json {
            output::print_json(&json!({"ready": true}), true)?;
        } else {
            output::print_line("ready")?;
        }
        Ok(0)
    })
}
