//! Switches and the kill switch through the daemon: it has them in force when it answers.

use serde_json::{Value, json};
use toolcrib_app::core::SwitchState;

use crate::clap_args::StopTools;
use crate::daemon::client::{ApiRequest, Client};
use crate::output::{self, Failure};

/// Sets a switch in the daemon of this person, or takes it back: whether that changed anything;
/// `None` = none runs that could be asked.
///
/// # Errors
/// As the daemon says.
pub(in crate::command) async fn set_switch(
    name: &str,
    state: Option<SwitchState>,
) -> Result<Option<bool>, Failure> {
    let Ok(Some(client)) = Client::connect_own().await else { return Ok(None) };
    let path = format!("/api/v1/switches/{}", percent_encode(name));
    let body = state.map(|state| json!({"state": state}));
    let ask = match &body {
        Some(body) => ApiRequest::put(&path, body),
        None => ApiRequest::delete(&path),
    };
    let reply = client.send(&ask).await?;
    if state.is_none() && reply.status == 404 {
        return Ok(Some(false));
    }
    reply.into_result().map(|_| Some(true))
}

/// Tells the daemon that tools are stopped, and says what became of the calls that were at work;
/// `None` = none runs that could be asked. The file stops every process before this.
pub(in crate::command) async fn engage_kill_switch(command: &StopTools, json: bool) -> Option<()> {
    let client = Client::connect_own().await.ok()??;
    let reason = command.reason.clone().unwrap_or_default();
    let body = json!({"reason": reason, "stop_running": !command.finish_running});
    let reply = client.send(&ApiRequest::put("/api/v1/kill-switch", &body)).await.ok()?;
    let stopped = reply.into_result().ok()?;
    for call in stopped.get("calls").and_then(Value::as_array).into_iter().flatten() {
        let word = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
        let what = format!("{} ({}) was at work: {}", word("tool"), word("call"), word("status"));
        output::warn(&what, json);
    }
    Some(())
}

/// Tells the daemon that tools run again; `None` = none runs that could be asked.
pub(in crate::command) async fn release_kill_switch() -> Option<()> {
    let client = Client::connect_own().await.ok()??;
    client.send(&ApiRequest::delete("/api/v1/kill-switch")).await.ok()?.into_result().ok().map(drop)
}

/// A name as a part of a path: names of switches have nothing but letters, digits and these.
fn percent_encode(name: &str) -> String {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_of_a_path() {
        assert_eq!(percent_encode("tool:read_file"), "tool:read_file");
        assert_eq!(percent_encode("source:a/b c?ä"), "source:a%2Fb%20c%3F%C3%A4");
    }
}
