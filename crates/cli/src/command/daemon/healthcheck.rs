//! `toolcrib healthcheck`: does it take calls?

use serde_json::json;

use crate::daemon::client::{Ask, Client, unreachable};
use crate::output::{self, Failure};
use crate::world;

pub(crate) fn run(json: bool) -> Result<u8, Failure> {
    world::block_on(async {
        let client = Client::required().await?;
        let reply = client.send(&Ask::get("/readyz")).await?;
        if reply.status != 200 {
            return Err(unreachable(&reply.problem().message));
        }
        if json {
            output::document(&json!({"ready": true}), true)?;
        } else {
            output::data("ready")?;
        }
        Ok(0)
    })
}
