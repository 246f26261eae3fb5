//! Tools of the suite that run long enough to become tasks.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::{ErrorType, ToolError, ToolOutput};
use toolcrib_mcp::client_channel::ClientChannel;

use crate::tools::{ask, field, form};

/// Calls that take longer become tasks here.
pub(crate) const SOON: Duration = Duration::from_millis(100);
/// Duration of a call that certainly becomes a task.
const LONG: Duration = Duration::from_millis(400);

/// Returns names and schemas.
pub(crate) fn definitions() -> Vec<(&'static str, Value)> {
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let seconds = json!({"seconds": {"type": "number"}, "label": {"type": "string"}});
    vec![
        ("greet", object(json!({"name": {"type": "string"}}))),
        ("slow_compute", object(seconds)),
        ("failing_job", object(json!({}))),
        ("protocol_error_job", object(json!({}))),
        ("confirm_delete", object(json!({"filename": {"type": "string"}}))),
        ("multi_input", object(json!({}))),
        ("test_tool_with_task", object(json!({}))),
    ]
}

/// Runs one of these tools; `None` if the name is unknown.
pub(crate) async fn run(
    name: &str,
    caller: &ClientChannel,
    args: &Value,
) -> Option<Result<ToolOutput, ToolError>> {
    let long = || tokio::time::sleep(LONG);
    let text = |words: String| Ok(ToolOutput::text(words));
    let confirm = || form("Are you sure?", field("confirm", "boolean"));
    Some(match name {
        "greet" => text(format!("Hello, {}!", args["name"].as_str().unwrap_or_default())),
        "slow_compute" => {
            let seconds = args["seconds"].as_f64().unwrap_or_default().clamp(0.0, 3600.0);
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
            text(format!("Computed {}.", args["label"]))
        }
        "failing_job" => {
            long().await;
            Err(ToolError::execution("The job failed."))
        }
        "protocol_error_job" => {
            long().await;
            Err(ToolError::new(ErrorType::ToolNotFound, "The job is gone."))
        }
        "confirm_delete" => {
            long().await;
            let asked = ask(caller, &[("confirm", confirm())]).await;
            asked.map(|answers| ToolOutput::text(format!("{answers:?}")))
        }
        "multi_input" => {
            long().await;
            let asked = [("one", confirm()), ("two", form("Who?", field("name", "string")))];
            ask(caller, &asked).await.map(|answers| ToolOutput::text(format!("{answers:?}")))
        }
        "test_tool_with_task" => {
            let who = form("What is your name?", field("name", "string"));
            match ask(caller, &[("user_name", who)]).await {
                Ok(answers) => {
                    long().await;
                    text(format!("Hello, {}!", answers["user_name"]["content"]["name"]))
                }
                Err(error) => Err(error),
            }
        }
        _ => return None,
    })
}
