//! A call that its server goes on with as a task (the extension `io.modelcontextprotocol/tasks`): it is asked for until it is over. Asking changes nothing,
//! so it goes on over a new connection when the old one ends; a task that the server does not know any more has an unknown outcome.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolResult, CancelTaskParams, DetailedTask, GetTaskParams, InputRequests,
    InputRequiredResult, Task, TaskPayload, UpdateTaskParams,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::Value;
use toolcrib_core::{CallCtx, ErrorType, ToolError, ToolOutput};

use super::connection::Live;
use super::result;
use super::tool::RemoteTool;

/// How often a task is asked for at most and at least, whatever its server would like.
const ASK: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));
/// How often it is asked for where its server says nothing.
const ASK_USUALLY: Duration = Duration::from_secs(1);
/// Connections in a row that may end before its answer.
const TRIES: usize = 3;
/// Characters of an error that are passed on.
const WORDS: usize = 2000;

/// A task that nobody has seen the end of. Dropped, its server is told that nobody waits.
struct Open {
    peer: Peer<RoleClient>,
    id: Option<String>,
}

impl Drop for Open {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move { peer.cancel_task(CancelTaskParams::new(id)).await });
    }
}

fn pause(task: &Task) -> Duration {
    let (least, most) = ASK;
    task.poll_interval_ms.map_or(ASK_USUALLY, Duration::from_millis).clamp(least, most)
}

impl RemoteTool {
    /// Follows a task to its end, or until somebody stops the call.
    pub(super) async fn follow(
        &self,
        live: &Arc<Live>,
        ctx: &CallCtx,
        task: Task,
    ) -> Result<ToolOutput, ToolError> {
        let mut open = Open { peer: live.peer().clone(), id: Some(task.task_id.clone()) };
        let done = tokio::select! {
            done = self.to_its_end(live, task, &mut open) => done,
            () = ctx.cancel.cancelled() => return Err(self.stopped(true)),
        };
        open.id = None;
        done
    }

    async fn to_its_end(
        &self,
        live: &Arc<Live>,
        mut task: Task,
        open: &mut Open,
    ) -> Result<ToolOutput, ToolError> {
        let mut live = Arc::clone(live);
        let (mut answered, mut tries) = (BTreeSet::new(), 0);
        loop {
            tokio::time::sleep(pause(&task)).await;
            let told = live.peer().get_task(GetTaskParams::new(&*task.task_id)).await;
            let now = match told {
                Ok(told) if told.task.task.task_id == task.task_id => told.task,
                Ok(_) => return Err(self.odd("it answered about another task")),
                // It has forgotten the task, or never knew it.
                Err(error @ ServiceError::McpError(_)) => return Err(self.lost(&error)),
                Err(error) if tries < TRIES => {
                    tries += 1;
                    live = self.connection.live().await.map_err(|_| self.lost(&error))?;
                    open.peer = live.peer().clone();
                    continue;
                }
                Err(error) => return Err(self.lost(&error)),
            };
            tries = 0;
            let DetailedTask { task: told, payload, .. } = now;
            task = told;
            match payload {
                TaskPayload::InputRequired { input_requests } => {
                    self.help(&live, &task.task_id, input_requests, &mut answered).await;
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

    /// Answers what the server asks and has not been answered.
    async fn help(
        &self,
        live: &Live,
        id: &str,
        asked: InputRequests,
        answered: &mut BTreeSet<String>,
    ) {
        let new: InputRequests =
            asked.into_iter().filter(|(key, _)| answered.insert(key.clone())).collect();
        if new.is_empty() {
            return;
        }
        let (answers, _) = self.answer(live, InputRequiredResult::new(Some(new), None)).await;
        // Whether they came is seen the next time.
        let _ = live.peer().update_task(UpdateTaskParams::new(id, answers)).await;
    }

    fn completed(&self, result: Value) -> Result<ToolOutput, ToolError> {
        let result: Result<CallToolResult, _> = serde_json::from_value(result);
        let result = result.map_err(|_| self.odd("its answer is no result of a tool"))?;
        Ok(result::output(self.name(), result))
    }

    /// The server could not do it, which is no result of the tool.
    fn broke(&self, error: &Value) -> ToolError {
        let words = error.get("message").and_then(Value::as_str).unwrap_or("it does not say why");
        let words: String = words.chars().take(WORDS).collect();
        ToolError::execution(format!("The MCP server {} failed at the call: {words}", self.name()))
    }
}
