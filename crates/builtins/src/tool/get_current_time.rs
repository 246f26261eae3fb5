//! `get_current_time`: date and time in a time zone.

use std::sync::Arc;

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{CallCtx, Clock, Tool, ToolError, ToolOutput, ToolSpec, Trust, defaults};

use super::{aliases, base_spec, examples};

/// `EEEE, MMMM d, yyyy 'at' h:mm:ss a z` in Unicode date pattern notation.
const HUMAN_READABLE: &str = "%A, %B %-d, %Y at %-I:%M:%S %p %Z";
/// ISO 8601 with the offset.
const ISO: &str = "%Y-%m-%dT%H:%M:%S%:z";

/// Handler of `get_current_time`.
pub(crate) struct GetCurrentTime {
    pub(crate) clock: Arc<dyn Clock>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// IANA time zone such as America/New_York, UTC, or an offset such as +02:00. Default: the
    /// local time zone.
    timezone: Option<String>,
    /// iso8601 (default): 2026-11-21T15:04:05+00:00. human_readable: Saturday, November 21, 2026 at
    /// 3:04:05 PM UTC.
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    Iso8601,
    HumanReadable,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "get_current_time",
        "Get current time",
        "Get the current date and time, in the local or any other time zone.",
    );
    spec.aliases = vec!["get_local_time".to_owned()];
    spec.parameter_aliases = aliases([("time_zone", "timezone"), ("tz", "timezone")]);
    spec.timeout = defaults::TIMEOUT_SIMPLE;
    spec.trust = Trust::Tool;
    spec.group = Some("time".to_owned());
    spec.examples = examples([
        ("What time is it?", json!({})),
        (
            "What day and time is it in New York?",
            json!({"timezone": "America/New_York", "format": "human_readable"}),
        ),
    ]);
    spec
}

impl Tool for GetCurrentTime {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let zone = match args.timezone.as_deref().map(str::trim) {
            // If this machine does not know the person's zone, return the time in the machine's
            // zone.
            None | Some("" | "local") => ctx
                .context
                .surroundings
                .zone()
                .and_then(|name| TimeZone::get(name).ok())
                .unwrap_or_else(TimeZone::system),
            Some(name) => zone(name)?,
        };
        let now = Timestamp::from_millisecond(self.clock.now_ms())
            .map_err(|error| {
                ToolError::execution("The clock of this machine is set to an impossible time.")
                    .with_detail(error.to_string())
            })?
            .to_zoned(zone);
        Ok(ToolOutput::text(format(&now, args.format.unwrap_or(Format::Iso8601))))
    }
}

fn format(now: &Zoned, format: Format) -> String {
    let pattern = match format {
        Format::Iso8601 => ISO,
        Format::HumanReadable => HUMAN_READABLE,
    };
    now.strftime(pattern).to_string()
}

fn zone(name: &str) -> Result<TimeZone, ToolError> {
    if name.eq_ignore_ascii_case("z") {
        return Ok(TimeZone::UTC);
    }
    offset(name).map(TimeZone::fixed).or_else(|| TimeZone::get(name).ok()).ok_or_else(|| {
        let shown: String = name.chars().take(80).collect();
        ToolError::validation(format!(
            "There is no time zone \"{shown}\". Use an IANA name such as Europe/Berlin or America/New_York, or UTC."
        ))
    })
}

/// Parses `+02:00`, `-0530`, `+2`, also after `UTC` or `GMT`.
fn offset(text: &str) -> Option<Offset> {
    let text = ["UTC", "GMT"].iter().find_map(|p| text.strip_prefix(p)).unwrap_or(text);
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(pair) => pair,
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        None => (digits, "0"),
    };
    let number = |text: &str, most: i32| -> Option<i32> {
        let plain = !text.is_empty() && text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|n| plain && *n <= most)
    };
    Offset::from_seconds(sign * (number(hours, 14)? * 3600 + number(minutes, 59)? * 60)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{CallResult, FixedClock, call};
    use toolcrib_core::{ErrorType, TypedHandler};

    /// 2026-11-21 15:04:05 UTC.
    const NOW: i64 = 1_795_273_445_000;

    async fn ask(args: serde_json::Value) -> CallResult {
        call(&TypedHandler::handler(GetCurrentTime { clock: Arc::new(FixedClock(NOW)) }), args)
            .await
    }

    #[tokio::test]
    async fn zones_and_formats() {
        for (args, expected) in [
            (json!({"timezone": "UTC"}), "2026-11-21T15:04:05+00:00"),
            (json!({"timezone": "America/New_York"}), "2026-11-21T10:04:05-05:00"),
            (
                json!({"timezone": "Asia/Kathmandu", "format": "iso8601"}),
                "2026-11-21T20:49:05+05:45",
            ),
            (json!({"timezone": "UTC+2"}), "2026-11-21T17:04:05+02:00"),
            (json!({"timezone": "-0530"}), "2026-11-21T09:34:05-05:30"),
            (json!({"timezone": "Z"}), "2026-11-21T15:04:05+00:00"),
            (
                json!({"timezone": "UTC", "format": "human_readable"}),
                "Saturday, November 21, 2026 at 3:04:05 PM UTC",
            ),
            (
                json!({"timezone": "America/New_York", "format": "human_readable"}),
                "Saturday, November 21, 2026 at 10:04:05 AM EST",
            ),
        ] {
            assert_eq!(ask(args.clone()).await.expect("time").text(), expected, "{args}");
        }
        assert!(ask(json!({})).await.expect("local time").text().starts_with("2026-11-2"));
    }

    #[tokio::test]
    async fn unknown_zones_are_named() {
        for zone in ["Mars/Olympus", "+25", "UTC+", "+1:2:3", "+", "/etc/passwd", "../UTC"] {
            let error = ask(json!({"timezone": zone})).await.expect_err(zone);
            assert_eq!(error.error_type, ErrorType::ValidationError);
            assert!(error.message.contains(&format!("\"{zone}\"")), "{}", error.message);
        }
    }
}
