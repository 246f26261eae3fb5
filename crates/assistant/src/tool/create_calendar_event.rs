//! `create_calendar_event`: creates an event as a file for any calendar, and in the owner's
//! calendar account; with an account, also searches free times.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{
    ArtifactMeta, ArtifactStore, Assessment, Block, CallCtx, ErrorType, Permission, Reach, Risk,
    StoreError, Tool, ToolError, ToolOutput, ToolSpec, Trust, defaults,
};

use super::assistant_tools::{AssistantTools, zone_of};
use super::definition::{examples, personal_spec};
use crate::calendar::{
    AccountError, CalendarError, Event, EventTime, Interval, MAX_DAYS, NewEvent, free_times, to_ics,
};
use crate::time::{format_instant, parse_local_time};

const MEDIA_TYPE: &str = "text/calendar";
/// Maximum free times in a result.
const MAX_FREE_TIMES: usize = 10;
/// Default reminder, in minutes.
const DEFAULT_REMINDER: u32 = 15;

/// Handler of `create_calendar_event`.
pub(super) struct CreateCalendarEvent(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Title of the event.
    title: String,
    /// Start in ISO 8601, such as 2026-12-01T14:30; in time_zone if it has no offset. A date for an
    /// all-day event.
    start_time: String,
    /// End; the last day of an all-day event. Default: an hour after the start.
    end_time: Option<String>,
    /// Length in minutes, instead of end_time.
    #[schemars(range(min = 1, max = 527_040))]
    duration_minutes: Option<i64>,
    /// IANA name such as Europe/Berlin. Default: the user's.
    time_zone: Option<String>,
    /// Whether it lasts whole days.
    all_day: Option<bool>,
    /// daily, weekly, monthly, yearly, weekdays, or an RRULE such as FREQ=WEEKLY;BYDAY=TU;COUNT=10.
    recurrence: Option<String>,
    /// Minutes before the start of at most five reminders. Default: 15; none for all-day events.
    reminder_minutes: Option<Vec<u32>>,
    /// Mail addresses of other attendees. The user's calendar server may invite them.
    attendees: Option<Vec<String>>,
    /// Notes in plain text.
    description: Option<String>,
    /// Location of the event.
    location: Option<String>,
    /// Instead of creating: find free times of this length from start_time until this time, from 8
    /// to 20 o'clock. Needs a calendar account.
    find_free_until: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = personal_spec::<Args>(
        "create_calendar_event",
        "Create a calendar event",
        "Create a calendar event: as an .ics file, and in the user's calendar if they have configured one. Can search that calendar for free times.",
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
        let mut spec = spec();
        if self.0.calendar.is_some() {
            // The tool reads the person's busy times, and its events may become invitations.
            spec.reach = Reach { outbound: true, private_read: true, ..Reach::default() };
            spec.permissions = vec![Permission::Network];
            spec.timeout = defaults::TIMEOUT_NETWORK;
        }
        spec
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        if let Some(until) = &args.find_free_until {
            let summary = format!("search free times from {} until {until}", args.start_time);
            return Ok(Assessment::from_spec(spec).with_summary(summary));
        }
        let mut summary = format!("calendar event: {} at {}", args.title, args.start_time);
        let mut assessment = Assessment::from_spec(spec);
        let invited = args.attendees.as_deref().unwrap_or_default();
        if self.0.calendar.is_some() && !invited.is_empty() {
            summary += &format!("; the calendar server may invite {}", invited.join(", "));
            assessment.risk = Risk::High;
        }
        Ok(assessment.with_summary(summary))
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
            zone: args.time_zone.or_else(|| zone_of(ctx)),
            all_day,
            recurrence: args.recurrence,
            reminders: args.reminder_minutes.unwrap_or(default),
            attendees: args.attendees.unwrap_or_default(),
            description: args.description,
            location: args.location,
        };
        let event = event.check(now)?;
        if let Some(until) = args.find_free_until.as_deref() {
            return self.find_free(&event, until).await;
        }
        let text = to_ics(&event, &format!("{}@toolcrib", ctx.call), now);
        let stored =
            store(Arc::clone(&self.0.artifacts), ctx, text.clone()).await.map_err(|error| {
                ToolError::execution("The file of the event could not be stored. Try again later.")
                    .with_detail(error.to_string())
            })?;
        let mut answer = json!({
            "event": event.title, "when": when(&event), "file": stored.artifact,
        });
        match self.add_to_calendar(ctx, &text).await {
            Some(Ok(())) => answer["note"] = json!("The event is in the user's calendar."),
            Some(Err(error)) => {
                answer["problem"] = json!(error.to_string());
                answer["note"] = json!(format!(
                    "The event is not in the user's calendar. Tell them why. {OPEN_THE_FILE}"
                ));
            }
            None => {
                answer["note"] = json!(format!("The event is in no calendar yet. {OPEN_THE_FILE}"));
            }
        }
        Ok(ToolOutput::from_blocks(vec![
            Block::text(answer.to_string()),
            Block::Artifact(stored.artifact),
        ])
        .with_structured(answer))
    }
}

/// How to import the file into a calendar.
const OPEN_THE_FILE: &str = "The user opens the .ics file, which is on the page and in `toolcrib artifact list`, and their calendar takes it over.";

impl CreateCalendarEvent {
    /// Adds the event to the owner's calendar; `None` if there is no account.
    async fn add_to_calendar(&self, ctx: &CallCtx, ics: &str) -> Option<Result<(), AccountError>> {
        let account = self.0.calendar.as_ref()?;
        Some(account.add(&ctx.call.to_string(), ics).await)
    }

    async fn find_free(&self, event: &Event, until: &str) -> Result<ToolOutput, ToolError> {
        let Some(account) = &self.0.calendar else {
            return Err(ToolError::new(
                ErrorType::NotConfigured,
                "No calendar account is configured, so no free time can be searched. Ask the user which times are free; they can set `calendar.url`, `calendar.user` and `calendar.password` in config.toml.",
            ));
        };
        let EventTime::Times { start, end } = &event.time else {
            return Err(ToolError::validation(
                "Free times are searched for events with a time of day: leave all_day out.",
            ));
        };
        let until = parse_local_time(until, &event.zone).map_err(CalendarError::from)?.instant;
        let length = end.instant.duration_since(start.instant);
        let days = until.duration_since(start.instant).as_hours() / 24;
        if until <= start.instant || days > MAX_DAYS {
            return Err(ToolError::validation(format!(
                "find_free_until must be after start_time, by at most {MAX_DAYS} days."
            )));
        }
        let busy = account.busy(start.instant, until, &event.zone).await;
        let busy = busy.map_err(|error| {
            ToolError::execution(error.to_string())
                .with_instruction("Tell the user. The event itself can still be created as a file.")
        })?;
        let free =
            free_times(&busy.times, (start.instant, until), length, &event.zone, MAX_FREE_TIMES);
        let shown = |(from, until): &Interval| {
            let [from, until] = [from, until].map(|at| format_instant(*at, &event.zone));
            json!({ "from": from, "until": until })
        };
        let mut answer = json!({ "free": free.iter().map(shown).collect::<Vec<_>>() });
        if free.is_empty() {
            answer["note"] = json!("Nothing of this length is free in this time.");
        }
        if busy.unexpanded > 0 {
            answer["warning"] = json!(format!(
                "{} repeated events count only at their first time, because the calendar server does not compute the others.",
                busy.unexpanded
            ));
        }
        if busy.is_cut {
            answer["warning"] = json!(
                "The calendar has too many events in this time to check. Search a shorter time."
            );
        }
        Ok(ToolOutput::structured(answer))
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
