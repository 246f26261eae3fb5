//! `schedule_task`: creates a task.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Assessment, CallCtx, MailFilter, TaskKind, TaskStatus, Tool, ToolError, ToolOutput, ToolSpec,
};

use super::assistant_tools::{AssistantTools, author, zone_of};
use super::definition::{SCHEDULING, base_spec, examples};
use crate::task::{NewTask, When, schedule_of};
use crate::time::{describe, describe_next};

/// Number of next times in the result.
const SHOWN: usize = 3;

/// Handler of `schedule_task`.
pub(super) struct ScheduleTask(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// What the task is for, in a few words.
    description: String,
    /// What to do when it is due, as a request that can be understood on its own.
    prompt: String,
    /// A time in ISO 8601, such as 2026-11-30T09:00; in the user's time zone if it has no offset.
    execute_at: Option<String>,
    /// Minute, hour, day of month, month, day of week (0 = Sunday). Both days must match.
    cron: Option<String>,
    /// daily, weekly, monthly, weekdays, hourly or interval:N (minutes), from execute_at on.
    recurrence: Option<String>,
    /// With hourly or interval:N: start of each day, such as 9:00.
    window_start: Option<String>,
    /// With hourly or interval:N: end of each day.
    window_end: Option<String>,
    /// notification: sends prompt to the user, without a model. Default: prompt.
    item_type: Option<ItemType>,
    /// At every heartbeat, the regular check of what needs attention.
    on_heartbeat: Option<bool>,
    /// When a file of the workspace changes that matches this glob, such as src/**/*.rs.
    on_change: Option<String>,
    /// When mail arrives: {} for all, or filters.
    on_mail: Option<MailFilter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ItemType {
    Prompt,
    Notification,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "schedule_task",
        "Schedule a task",
        "Schedule a task that runs later without the user. Give exactly one of execute_at, cron, on_heartbeat, on_change and on_mail; execute_at can have a recurrence.",
        SCHEDULING,
    );
    spec.examples = examples([
        (
            "Every weekday at nine, tell me what changed in the project",
            json!({"description": "Daily project news", "prompt": "Summarize what changed in the project since yesterday.", "cron": "0 9 * * MON-FRI"}),
        ),
        (
            "Remind me tomorrow at 5 pm to call Mia",
            json!({"description": "Call Mia", "prompt": "Call Mia.", "execute_at": "2026-11-27T17:00", "item_type": "notification"}),
        ),
    ]);
    spec.needs = ["remind me", "do something later", "every morning"].map(str::to_owned).to_vec();
    spec
}

impl Tool for ScheduleTask {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        Ok(Assessment::from_spec(spec).with_summary(format!("schedule: {}", args.description)))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let new = NewTask {
            owner: ctx.context.owner.clone(),
            description: args.description,
            prompt: args.prompt,
            when: When {
                execute_at: args.execute_at,
                cron: args.cron,
                recurrence: args.recurrence,
                window_start: args.window_start,
                window_end: args.window_end,
                on_heartbeat: args.on_heartbeat.unwrap_or(false),
                hook: None,
                on_change: args.on_change,
                on_mail: args.on_mail,
            },
            kind: match args.item_type {
                Some(ItemType::Notification) => TaskKind::Notification,
                Some(ItemType::Prompt) | None => TaskKind::Run,
            },
            zone: zone_of(ctx),
            surroundings: ctx.context.surroundings.clone(),
            agent: ctx.context.agent.clone(),
            author: author(ctx),
            depth: ctx.context.depth,
            untrusted: self.0.untrusted(ctx),
        };
        let task = self.0.tasks.add(new).await?;
        let mut answer = json!({ "task_id": task.id, "status": task.status });
        let (schedule, zone) = schedule_of(&task).map_err(crate::task::TaskError::from)?;
        answer["schedule"] = json!(describe(&schedule, &zone));
        if let Some(due) = task.due_at {
            let first = Timestamp::from_millisecond(due).ok();
            let times = std::iter::successors(first, |last| schedule.next_after(*last, &zone));
            let times: Vec<Timestamp> = times.take(SHOWN).collect();
            answer["next_runs"] = json!(describe_next(&times, &zone));
        }
        if task.status == TaskStatus::Paused {
            let id = task.id.to_string();
            self.0.tell_waiting(ctx, &id, &task.description, "toolcrib task resume").await;
            answer["note"] = json!(format!(
                "This run has read text from outside, so the task is paused until the person lets it run: `toolcrib task resume {}`. Tell the person.",
                task.id
            ));
        }
        Ok(ToolOutput::structured(answer))
    }
}
