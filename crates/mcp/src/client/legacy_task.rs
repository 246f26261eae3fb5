//! Tools that can only be called as a task, in the form of revision 2025-11-25: `tools/call` with
//! `task`, then `tasks/get` until the task has ended, then `tasks/result`. rmcp does not support
//! this form, so its messages are sent as custom requests.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolResult, ClientRequest, CustomRequest};
use serde_json::{Value, json};
use toolcrib_core::{ErrorType, ToolError, ToolOutput};

use super::connection::LiveConnection;
use super::remote_tool::RemoteTool;
use super::running_calls::AskingCall;

/// Minimum and maximum pause between two polls; suggestions of the server are limited to this
/// range.
const POLL_BOUNDS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));
/// Pause if the server does not suggest one.
const DEFAULT_POLL: Duration = Duration::from_secs(1);

impl RemoteTool {
    /// Calls the tool as a task and waits for its result. Abandoning the call cancels the task.
    pub(super) async fn call_as_legacy_task(
        &self,
        live: &Arc<LiveConnection>,
        call: &AskingCall,
        args: &Value,
    ) -> Result<ToolOutput, ToolError> {
        let time = self.spec.timeout.as_millis();
        let params = json!({"name": self.own_name, "arguments": args, "task": {"ttl": time}});
        let created = self.custom(live, call, "tools/call", params).await?;
        let task = created.get("task").unwrap_or(&created).clone();
        let Some(id) = task.get("taskId").and_then(Value::as_str).map(str::to_owned) else {
            // A server may answer immediately.
            return self.tool_result(created);
        };
        let mut open = CancelOnDrop { live: Arc::clone(live), id: Some(id.clone()) };
        let mut now = task;
        loop {
            match now.get("status").and_then(Value::as_str).unwrap_or_default() {
                "completed" | "failed" => break,
                "cancelled" => {
                    open.id = None;
                    let words = format!("The MCP server {} gave the call up.", self.name());
                    return Err(ToolError::new(ErrorType::Cancelled, words));
                }
                _ => {}
            }
            tokio::select! {
                () = tokio::time::sleep(pause(&now)) => {}
                () = call.ctx.cancel.cancelled() => return Err(self.cancelled(true)),
            }
            now = self.custom(live, call, "tasks/get", json!({"taskId": id})).await?;
        }
        open.id = None;
        let result = self.custom(live, call, "tasks/result", json!({"taskId": id})).await?;
        self.tool_result(result)
    }

    fn tool_result(&self, result: Value) -> Result<ToolOutput, ToolError> {
        let result: Result<CallToolResult, _> = serde_json::from_value(result);
        let result =
            result.map_err(|_| self.invalid_reply("its answer is not a result of a tool"))?;
        Ok(self.output(result))
    }

    async fn custom(
        &self,
        live: &Arc<LiveConnection>,
        call: &AskingCall,
        method: &str,
        params: Value,
    ) -> Result<Value, ToolError> {
        let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
        let answer = self.send_request(live, call, request).await?;
        serde_json::to_value(answer).map_err(|_| self.invalid_reply("its answer cannot be read"))
    }
}

fn pause(task: &Value) -> Duration {
    let (least, most) = POLL_BOUNDS;
    let own = task.get("pollInterval").and_then(Value::as_u64);
    own.map_or(DEFAULT_POLL, Duration::from_millis).clamp(least, most)
}

/// Cancels a task that has not ended.
struct CancelOnDrop {
    live: Arc<LiveConnection>,
    id: Option<String>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let live = Arc::clone(&self.live);
        let request = CustomRequest::new("tasks/cancel", Some(json!({"taskId": id})));
        runtime.spawn(async move {
            live.peer().send_request(ClientRequest::CustomRequest(request)).await
        });
    }
}
