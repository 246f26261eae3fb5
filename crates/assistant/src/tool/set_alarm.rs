//! `set_alarm`: sets an alarm at a time of the day, or a countdown.

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Assessment, CallCtx, TaskKind, Tool, ToolError, ToolOutput, ToolSpec};

use super::assistant_tools::{AssistantTools, author, zone_of};
use super::definition::{examples, personal_spec};
use crate::task::{NewTask, TaskError, When, schedule_of};
use crate::time::{format_instant, next_time_of_day, parse_zone};

/// Longest countdown in seconds: a day, as in clocks of phones.
const MAX_COUNTDOWN: i64 = 86_400;
/// The text of an alarm and a countdown without a label.
const ALARM: &str = "Alarm";
const TIMER: &str = "Timer";

/// Handler of `set_alarm`.
pub(super) struct SetAlarm(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Hour, 0 to 23, in the user's time zone: the next such time.
    #[schemars(range(min = 0, max = 23))]
    hour: Option<i8>,
    /// Minutes of the alarm. Default: 0.
    #[schemars(range(min = 0, max = 59))]
    minutes: Option<i8>,
    /// Text of the alarm.
    label: Option<String>,
    /// Seconds of a countdown, instead of hour and minutes.
    #[schemars(range(min = 1, max = 86_400))]
    duration_seconds: Option<i64>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = personal_spec::<Args>(
        "set_alarm",
        "Set an alarm",
        "Set an alarm (hour, minutes) or a countdown (duration_seconds) that notifies the user every minute until they dismiss it. For another day or a repeated time use schedule_task.",
    );
    spec.examples = examples([
        ("Wake me at half past six", json!({"hour": 6, "minutes": 30, "label": "Wake up"})),
        ("Ten minutes for the pasta", json!({"duration_seconds": 600, "label": "Pasta"})),
    ]);
    spec.needs = ["wake me up", "set a timer", "countdown"].map(str::to_owned).to_vec();
    spec
}

impl Tool for SetAlarm {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let label = args.label.as_deref().unwrap_or(ALARM);
        Ok(Assessment::from_spec(spec).with_summary(format!("alarm: {label}")))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let zone = parse_zone(zone_of(ctx).as_deref()).map_err(TaskError::from)?;
        let at = due_at(&args, self.0.tasks.now()?, &zone)?;
        let label = args.label.as_deref().map(str::trim).filter(|label| !label.is_empty());
        let fallback = if args.duration_seconds.is_some() { TIMER } else { ALARM };
        let label = label.unwrap_or(fallback).to_owned();
        let new = NewTask {
            owner: ctx.context.owner.clone(),
            description: label.clone(),
            prompt: label,
            when: When { execute_at: Some(at.to_string()), ..When::default() },
            kind: TaskKind::Alarm,
            zone: zone_of(ctx),
            surroundings: ctx.context.surroundings.clone(),
            agent: String::new(),
            author: author(ctx),
            depth: ctx.context.depth,
            untrusted: self.0.untrusted(ctx),
        };
        let task = self.0.tasks.add(new).await?;
        let (_, zone) = schedule_of(&task).map_err(TaskError::from)?;
        Ok(ToolOutput::structured(json!({
            "alarm_id": task.id, "rings_at": format_instant(at, &zone), "label": task.description,
            "note": "It rings while a Toolcrib daemon runs. cancel_task removes it before it rings.",
        })))
    }
}

/// Returns when the alarm rings.
fn due_at(args: &Args, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, ToolError> {
    let refuse = |text: &str| Err(ToolError::validation(text));
    match (args.hour, args.minutes, args.duration_seconds) {
        (None, None, Some(seconds)) if (1..=MAX_COUNTDOWN).contains(&seconds) => {
            Timestamp::from_second(now.as_second() + seconds)
                .or_else(|_| refuse("duration_seconds is too large."))
        }
        (None, None, Some(_)) => refuse(
            "duration_seconds goes from 1 to 86400, which is a day. Use schedule_task for a later time.",
        ),
        (Some(hour), minutes, None) => {
            let time = Time::new(hour, minutes.unwrap_or(0), 0, 0).ok();
            let next = time.and_then(|time| next_time_of_day(time, now, zone));
            next.map_or_else(
                || {
                    refuse(
                        "There is no such time: hour goes from 0 to 23 and minutes from 0 to 59.",
                    )
                },
                Ok,
            )
        }
        _ => refuse(
            "Provide either hour and minutes for an alarm, or duration_seconds for a countdown.",
        ),
    }
}
