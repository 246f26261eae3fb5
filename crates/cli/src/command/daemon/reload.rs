//! `toolcrib reload`: the daemon reads its configuration again.

use serde_json::{Value, json};

use crate::daemon::client::{Ask, Client};
use crate::output::{self, Failure};
use crate::world;

pub(crate) fn run(json: bool) -> Result<u8, Failure> {
    world::block_on(async {
        let client = Client::required().await?;
        let reply = client.send(&Ask::post("/api/v1/settings/reload", &json!({}))).await?;
        let reloaded = reply.done()?;
        if json {
            output::document(&reloaded, true)?;
            return Ok(0);
        }
        let texts = |key: &str| -> Vec<String> {
            let list = reloaded.get(key).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        texts("remarks").iter().for_each(|remark| output::remark(remark, false));
        let waiting = texts("needs_restart");
        if !waiting.is_empty() {
            output::remark(&format!("a restart is needed for: {}", waiting.join(", ")), false);
        }
        output::note("toolcrib: the daemon has read its configuration again");
        Ok(0)
    })
}
