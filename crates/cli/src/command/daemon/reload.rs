//! `toolcrib daemon reload`: the daemon reloads its configuration.

use serde_json::{Value, json};

use crate::bootstrap;
use crate::daemon::client::{ApiRequest, Client};
use crate::output::{self, Failure};

pub(crate) fn run(json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let client = Client::connect_required().await?;
        let reply = client.send(&ApiRequest::post("/api/v1/settings/reload", &json!({}))).await?;
        let reloaded = reply.into_result()?;
        if json {
            output::print_json(&reloaded, true)?;
            return Ok(0);
        }
        let texts = |key: &str| -> Vec<String> {
            let list = reloaded.get(key).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        texts("remarks").iter().for_each(|remark| output::warn(remark, false));
        let waiting = texts("needs_restart");
        if !waiting.is_empty() {
            output::warn(&format!("a restart is needed for: {}", waiting.join(", ")), false);
        }
        output::eprint_line("toolcrib: the daemon reloaded its configuration");
        Ok(0)
    })
}
