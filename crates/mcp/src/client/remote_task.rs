//! Calls that the server continues as a task (extension `io.modelcontextprotocol/tasks`): polled
//! until they end. Polling changes nothing, so it continues over a new connection if the old one
//! breaks; a task that the server no longer knows has an unknown outcome.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolResult, CancelTaskParams, DetailedTask, GetTaskParams, InputRequests,
    InputRequiredResult, Task, TaskPayload, UpdateTaskParams,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::Value;
use toolcrib_core::{ErrorType, ToolError, ToolOutput};

use super::connection::LiveConnection;
use super::remote_tool::RemoteTool;
use super::running_calls::AskingCall;

/// Minimum and maximum poll interval; suggestions of the server are limited to this range.
const POLL_BOUNDS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));
/// Poll interval if the server does not suggest one.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum connections in a row that may break before a response.
const TRIES: usize = 3;
/// Characters of an error that are passed on.
const WORDS: usize = 2000;

/// A task that has not ended. Dropping it cancels the task at the server.
struct CancelTaskOnDrop {
    peer: Peer<RoleClient>,
    id: Option<String>,
}

impl Drop for CancelTaskOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move { peer.cancel_task(CancelTaskParams::new(id)).await });
    }
}

fn pause(task: &Task) -> Duration {
    let (least, most) = POLL_BOUNDS;
    task.poll_interval_ms.map_or(DEFAULT_POLL_INTERVAL, Duration::from_millis).clamp(least, most)
}

impl RemoteTool {
    /// Follows a task until it ends or the call is cancelled.
    pub(super) async fn follow_task(
        &self,
        live: &Arc<LiveConnection>,
        call: &AskingCall,
        task: Task,
    ) -> Result<ToolOutput, ToolError> {
        let mut open =
            CancelTaskOnDrop { peer: live.peer().clone(), id: Some(task.task_id.clone()) };
        let done = tokio::select! {
            done = self.poll_until_done(live, call, task, &mut open) => done,
            () = call.ctx.cancel.cancelled() => return Err(self.cancelled(true)),
        };
        open.id = None;
        done
    }

    async fn poll_until_done(
        &self,
        live: &Arc<LiveConnection>,
        call: &AskingCall,
        mut task: Task,
        open: &mut CancelTaskOnDrop,
    ) -> Result<ToolOutput, ToolError> {
        let mut live = Arc::clone(live);
        let (mut answered, mut tries) = (BTreeSet::new(), 0);
        loop {
            tokio::time::sleep(pause(&task)).await;
            let told = live.peer().get_task(GetTaskParams::new(&*task.task_id)).await;
            let now = match told {
                Ok(told) if told.task.task.task_id == task.task_id => told.task,
                Ok(_) => return Err(self.invalid_reply("it answered about another task")),
                // The server has forgotten the task, or never knew it.
                Err(error @ ServiceError::McpError(_)) => return Err(self.connection_lost(&error)),
                Err(error) if tries < TRIES => {
                    tries += 1;
                    live =
                        self.connection.live().await.map_err(|_| self.connection_lost(&error))?;
                    open.peer = live.peer().clone();
                    continue;
                }
                Err(error) => return Err(self.connection_lost(&error)),
            };
            tries = 0;
            let DetailedTask { task: told, payload, .. } = now;
            task = told;
            match payload {
                TaskPayload::InputRequired { input_requests } => {
                    let id = &task.task_id;
                    self.answer_questions(&live, call, id, input_requests, &mut answered).await?;
                }
                TaskPayload::Completed { result } => return self.completed(result.into()),
                TaskPayload::Failed { error } => return Err(self.broke(&error.into())),
                TaskPayload::Cancelled => {
                    let words = format!("The MCP server {} gave the call up.", self.name());
                    return Err(ToolError::new(ErrorType::Cancelled, words));
                }
                _ => {}
            }
        }
    }

    /// Answers open questions of the server.
    async fn answer_questions(
        &self,
        live: &LiveConnection,
        call: &AskingCall,
        id: &str,
        asked: InputRequests,
        answered: &mut BTreeSet<String>,
    ) -> Result<(), ToolError> {
        let new: InputRequests =
            asked.into_iter().filter(|(key, _)| answered.insert(key.clone())).collect();
        if new.is_empty() {
            return Ok(());
        }
        let wanted = InputRequiredResult::new(Some(new), None);
        let (answers, _) = self.answer(live, call, wanted).await?;
        // The next poll shows whether the answers arrived.
        let _ = live.peer().update_task(UpdateTaskParams::new(id, answers)).await;
        Ok(())
    }

    fn completed(&self, result: Value) -> Result<ToolOutput, ToolError> {
        let result: Result<CallToolResult, _> = serde_json::from_value(result);
        let result =
            result.map_err(|_| self.invalid_reply("its answer is not a result of a tool"))?;
        Ok(self.output(result))
    }

    /// Creates the error for a task that failed at the server, which is not a result of the tool.
    fn broke(&self, error: &Value) -> ToolError {
        let words = error.get("message").and_then(Value::as_str).unwrap_or("it does not say why");
        let words: String = words.chars().take(WORDS).collect();
        ToolError::execution(format!("The MCP server {} failed at the call: {words}", self.name()))
    }
}
