//! `cancel_task`: ends a task.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{CallCtx, Effect, TaskId, Tool, ToolError, ToolOutput, ToolSpec};

use super::assistant_tools::AssistantTools;
use super::definition::{SCHEDULING, base_spec, examples};
use crate::task::TaskError;

/// Handler of `cancel_task`.
pub(super) struct CancelTask(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// The id of the task.
    task_id: String,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "cancel_task",
        "Cancel a task",
        "Cancel a scheduled task by its id, so that it does not run again.",
        SCHEDULING,
    );
    spec.effect = Effect::Destructive;
    spec.examples = examples([(
        "Stop the daily news",
        json!({ "task_id": "task_019aabc00000000000000000000000a1" }),
    )]);
    spec
}

impl Tool for CancelTask {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let id: TaskId = args.task_id.trim().parse().map_err(|_| {
            let shown = args.task_id.chars().filter(|c| !c.is_control()).take(60).collect();
            ToolError::from(TaskError::Unknown(shown))
        })?;
        let task = self.0.tasks.cancel(&ctx.context.owner, id).await?;
        Ok(ToolOutput::structured(json!({ "task_id": task.id, "status": task.status })))
    }
}
