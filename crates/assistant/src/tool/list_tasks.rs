//! `list_tasks`: lists the tasks of the person.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{
    CallCtx, Effect, Task, TaskStatus, Tool, ToolError, ToolOutput, ToolSpec, Trust,
};

use super::assistant_tools::{AssistantTools, zone_of};
use super::definition::{SCHEDULING, base_spec, examples};
use crate::task::{TaskError, schedule_of};
use crate::time::{describe, format_instant, parse_time_range, parse_zone};

/// Maximum tasks in a result.
const MOST: usize = 100;

/// Maximum characters of a last result; its conversation contains the complete result.
const RESULT_CHARS: usize = 300;

/// Handler of `list_tasks`.
pub(super) struct ListTasks(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// PENDING: tasks that will run. COMPLETED: tasks that have ended. Default: all.
    status: Option<Status>,
    /// Only tasks due in: today, tomorrow, week, month, or START/END such as 2026-12-01/2026-12-08.
    time_range: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Status {
    Pending,
    Completed,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "list_tasks",
        "List tasks",
        "List scheduled tasks with their ids, schedules, next times and last results.",
        SCHEDULING,
    );
    spec.effect = Effect::Read;
    spec.reach.private_read = true;
    spec.examples = examples([("What is scheduled?", json!({ "status": "PENDING" }))]);
    spec
}

impl Tool for ListTasks {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let all = self.0.tasks.list(&ctx.context.owner, None).await?;
        let range = match args.time_range.as_deref().map(str::trim).filter(|text| !text.is_empty())
        {
            Some(text) => {
                let zone = parse_zone(zone_of(ctx).as_deref()).map_err(TaskError::from)?;
                let range = parse_time_range(text, self.0.tasks.now()?, &zone);
                Some(range.map_err(TaskError::from)?)
            }
            None => None,
        };
        let fits = |task: &&Task| {
            let has_status = match args.status {
                None => true,
                Some(Status::Pending) => task.is_open(),
                Some(Status::Completed) => task.status == TaskStatus::Completed,
            };
            let is_due = range.as_ref().is_none_or(|range| {
                let due = task.due_at.and_then(|due| Timestamp::from_millisecond(due).ok());
                due.is_some_and(|due| range.contains(&due))
            });
            has_status && is_due
        };
        let found: Vec<&Task> = all.iter().filter(fits).collect();
        if found.is_empty() {
            return Ok(ToolOutput::text("There are no such tasks."));
        }
        let rows: Vec<Value> = found.iter().take(MOST).map(|task| row(task)).collect();
        let mut answer = json!({ "tasks": rows });
        if found.len() > MOST {
            answer["left_out"] = json!(found.len() - MOST);
        }
        let output = ToolOutput::structured(answer);
        // Results of runs may repeat text that the runs have read.
        let outside = found.iter().take(MOST).find_map(|task| {
            let of_result = task.history.first().and_then(|last| last.untrusted.clone());
            task.untrusted.clone().or(of_result)
        });
        Ok(match outside {
            Some(source) => output.with_origin(Trust::External, source),
            None => output,
        })
    }
}

fn row(task: &Task) -> Value {
    let mut row = json!({
        "task_id": task.id, "description": task.description, "status": task.status,
    });
    if let Ok((schedule, zone)) = schedule_of(task) {
        row["schedule"] = json!(describe(&schedule, &zone));
        let due = task.due_at.and_then(|due| Timestamp::from_millisecond(due).ok());
        if let Some(due) = due {
            row["next_run"] = json!(format_instant(due, &zone));
        }
    }
    if let Some(last) = task.history.first() {
        row["last_run_ok"] = json!(last.ok);
        let mut result: String = last.result.chars().take(RESULT_CHARS).collect();
        if result.len() < last.result.len() {
            result.push('…');
        }
        row["last_result"] = json!(result);
    }
    row
}
