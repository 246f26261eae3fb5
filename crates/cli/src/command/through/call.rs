//! `toolcrib tool call --daemon`.

use serde_json::{Value, json};
use toolcrib_app::core::ErrorType;

use crate::cli::ToolCall;
use crate::daemon::client::{Ask, Client};
use crate::output::{self, Failure};
use crate::world;

/// Runs one call in the daemon.
pub(in crate::command) fn run(
    command: &ToolCall,
    name: &str,
    args: String,
    json: bool,
) -> Result<u8, Failure> {
    super::own_surroundings(&command.world)?;
    world::block_on(async {
        let client = Client::required().await?;
        let body = json!({"tool": name, "arguments": args});
        let mut ask = Ask::post("/api/v1/calls", &body);
        if let Some(key) = &command.key {
            ask = ask.with("idempotency-key", key);
        }
        let reply = client.send(&ask).await?;
        let answer = reply.json()?;
        // A call that failed has a document too; its HTTP status says the same.
        if answer.get("call").is_none() {
            return Err(reply.problem());
        }
        print(&answer, json)
    })
}

/// What became of a call; its exit code.
pub(super) fn print(call: &Value, json: bool) -> Result<u8, Failure> {
    let word = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
    if json {
        output::document(call, true)?;
    }
    let tool = call.get("tool").and_then(Value::as_str).unwrap_or_else(|| word("asked"));
    match word("status") {
        "succeeded" => {
            if !json {
                match call.get("result") {
                    Some(Value::String(text)) => output::data(text)?,
                    Some(other) => output::document(other, false)?,
                    None => {}
                }
            }
            Ok(0)
        }
        "waiting" => {
            let id = call.pointer("/approval/id").and_then(Value::as_str).unwrap_or_default();
            let message =
                format!("{tool} waits for approval {id}; `toolcrib approve yes {id}` lets it run");
            Err(Failure { code: 6, message })
        }
        "running" => {
            let id = word("call");
            output::remark(
                &format!("{tool} works on; `toolcrib explain {id}` says how it ended"),
                json,
            );
            Ok(0)
        }
        status => {
            let error = serde_json::from_value::<ErrorType>(json!(word("error_type"))).ok();
            let code = error.map_or(1, ErrorType::exit_code);
            if !json {
                let message = Some(word("message")).filter(|text| !text.is_empty());
                output::note(&format!("toolcrib: {}", message.unwrap_or(status)));
            }
            Ok(code)
        }
    }
}
