//! `create_calendar_event`: an event as a file that every calendar takes.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{
    ArtifactMeta, ArtifactStore, Assessment, Block, CallCtx, StoreError, Tool, ToolError,
    ToolOutput, ToolSpec, Trust,
};

use super::assistant_tools::AssistantTools;
use super::definition::{examples, personal_spec};
use crate::calendar::{Event, EventTime, NewEvent, to_ics};
use crate::time::format_instant;

const MEDIA_TYPE: &str = "text/calendar";
/// Minutes of the default reminder.
const DEFAULT_REMINDER: u32 = 15;

/// Handler of `create_calendar_event`.
pub(super) struct CreateCalendarEvent(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Title of the event.
    title: String,
    /// Start in ISO 8601, such as 2026-12-01T14:30. Without an offset it is in the event's time
    /// zone. A date for an all-day event.
    start_time: String,
    /// End, as the start; the last day of an all-day event. Default: an hour after the start.
    end_time: Option<String>,
    /// Length in minutes, instead of end_time.
    #[schemars(range(min = 1, max = 527_040))]
    duration_minutes: Option<i64>,
    /// IANA name such as Europe/Berlin. Default: the user's time zone.
    time_zone: Option<String>,
    /// Whether it lasts whole days.
    all_day: Option<bool>,
    /// daily, weekly, monthly, yearly, weekdays, or an RRULE such as FREQ=WEEKLY;BYDAY=TU;COUNT=10.
    recurrence: Option<String>,
    /// Minutes before the start at which the calendar reminds, at most five. Default: 15; none for
    /// all-day events.
    reminder_minutes: Option<Vec<u32>>,
    /// Mail addresses of other attendees. They are noted; no invitation is sent.
    attendees: Option<Vec<String>>,
    /// Notes for the event, in plain text.
    description: Option<String>,
    /// Where it takes place.
    location: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = personal_spec::<Args>(
        "create_calendar_event",
        "Create a calendar event",
        "Create a calendar event as an .ics file that the user adds to their calendar by opening it.",
    );
    spec.examples = examples([
        (
            "Lunch with Bob next Tuesday at noon",
            json!({"title": "Lunch with Bob", "start_time": "2026-12-01T12:00", "attendees": ["bob@example.com"]}),
        ),
        (
            "Block the 24th to the 26th for the trip",
            json!({"title": "Trip", "start_time": "2026-12-24", "end_time": "2026-12-26", "all_day": true}),
        ),
    ]);
    spec.needs = ["add a meeting to my calendar", "appointment", "ics file", "invite people"]
        .map(str::to_owned)
        .to_vec();
    spec
}

impl Tool for CreateCalendarEvent {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let summary = format!("calendar event: {} at {}", args.title, args.start_time);
        Ok(Assessment::from_spec(spec).with_summary(summary))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let now = self.0.tasks.now()?;
        let all_day = args.all_day.unwrap_or(false);
        let default = if all_day { Vec::new() } else { vec![DEFAULT_REMINDER] };
        let event = NewEvent {
            title: args.title,
            start: args.start_time,
            end: args.end_time,
            minutes: args.duration_minutes,
            zone: args.time_zone,
            all_day,
            recurrence: args.recurrence,
            reminders: args.reminder_minutes.unwrap_or(default),
            attendees: args.attendees.unwrap_or_default(),
            description: args.description,
            location: args.location,
        };
        let event = event.check(now)?;
        let text = to_ics(&event, &format!("{}@toolcrib", ctx.call), now);
        let stored = store(Arc::clone(&self.0.artifacts), ctx, text).await.map_err(|error| {
            ToolError::execution("The file of the event could not be stored. Try again later.")
                .with_detail(error.to_string())
        })?;
        let answer = json!({
            "event": event.title, "when": when(&event), "file": stored.artifact,
            "note": "The event is in no calendar yet: the user opens the .ics file, which is on the page and in `toolcrib artifact list`, and their calendar takes it over.",
        });
        Ok(ToolOutput::from_blocks(vec![
            Block::text(answer.to_string()),
            Block::Artifact(stored.artifact),
        ])
        .with_structured(answer))
    }
}

async fn store(
    artifacts: Arc<dyn ArtifactStore>,
    ctx: &CallCtx,
    text: String,
) -> Result<ArtifactMeta, StoreError> {
    let new = NewArtifact {
        owner: ctx.context.owner.clone(),
        media_type: MEDIA_TYPE.to_owned(),
        trust: Trust::Tool,
        source: None,
        call: ctx.call,
        run: ctx.run,
        conversation: ctx.context.conversation.clone(),
    };
    let written = tokio::task::spawn_blocking(move || {
        let mut writer = artifacts.create(new)?;
        writer.write(text.as_bytes())?;
        writer.finish()
    });
    written.await.map_err(|error| StoreError::Failed(error.to_string()))?
}

fn when(event: &Event) -> String {
    match &event.time {
        EventTime::Days { start, end } => {
            format!("{start} until the end of {}", end.yesterday().unwrap_or(*end))
        }
        EventTime::Times { start, end } => format!(
            "{} to {}",
            format_instant(start.instant, &event.zone),
            format_instant(end.instant, &event.zone)
        ),
    }
}
