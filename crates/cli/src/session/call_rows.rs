//! The calls of a run for people: one line each, numbered, with arguments and result kept for later
//! display.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use toolcrib_agent::events::{ToolEvent, ToolState};
use toolcrib_core::{CallId, OutcomeKind, RawArgs, Report};

use crate::terminal::{Style, Styler, escape_to_line, truncate_to_width, width};

/// Number of columns of the argument that distinguishes a call from others of its tool.
const LABEL_CHARS: usize = 60;
/// The most informative arguments of calls, the best first.
const IDENTIFYING_ARGS: [&str; 12] = [
    "path",
    "command",
    "url",
    "query",
    "pattern",
    "from",
    "to",
    "name",
    "question",
    "id",
    "file",
    "expression",
];

/// Number of columns of a running call's progress.
const ARG_CHARS: usize = 40;

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct CallRow {
    /// Number in this chat, from 1.
    pub(crate) number: usize,
    pub(crate) id: CallId,
    pub(crate) tool: String,
    pub(crate) args: RawArgs,
    begun: Instant,
    /// Whether a person is currently asked about it.
    pub(crate) is_asked: bool,
    /// The last line of its progress.
    said: String,
    /// Its end.
    pub(crate) end: Option<ToolState>,
    /// The decisions of the stages.
    pub(crate) report: Option<Arc<Report>>,
}

/// All calls, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct CallTable {
    rows: Vec<CallRow>,
}

impl CallTable {
    /// Records an event; returns its call.
    pub(crate) fn record(&mut self, event: &ToolEvent) -> Option<&CallRow> {
        let id = event.call?;
        if !self.rows.iter().any(|row| row.id == id) {
            // A call that another process started first appears with its decision.
            let args = match &event.state {
                ToolState::InputAvailable { args } => args.clone(),
                _ => RawArgs::Value(Value::Null),
            };
            self.rows.push(CallRow {
                number: self.rows.len() + 1,
                id,
                tool: event.tool.clone(),
                args,
                begun: Instant::now(),
                is_asked: false,
                said: String::new(),
                end: None,
                report: None,
            });
        }
        let row = self.rows.iter_mut().rev().find(|row| row.id == id)?;
        match &event.state {
            ToolState::InputStreaming { .. } | ToolState::InputAvailable { .. } => {}
            ToolState::Progress { progress } => {
                let last = progress.message.lines().rev().find(|line| !line.trim().is_empty());
                row.said = last.map(escape_to_line).unwrap_or_default();
            }
            ToolState::ApprovalRequested { .. } => row.is_asked = true,
            ToolState::ApprovalResponded { .. } => row.is_asked = false,
            end => {
                row.end = Some(end.clone());
                row.report.clone_from(&event.report);
            }
        }
        Some(row)
    }

    /// Returns the call with this number, or the newest.
    pub(crate) fn find(&self, number: Option<usize>) -> Option<&CallRow> {
        match number {
            None => self.rows.last(),
            Some(number) => self.rows.get(number.checked_sub(1)?),
        }
    }

    /// Returns the call with this id.
    pub(crate) fn by_id(&self, id: CallId) -> Option<&CallRow> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// Returns the running calls.
    pub(crate) fn running(&self) -> impl Iterator<Item = &CallRow> {
        self.rows.iter().filter(|row| row.end.is_none())
    }

    /// Returns the number of calls.
    pub(crate) fn count(&self) -> usize {
        self.rows.len()
    }

    /// Removes unfinished calls after the end of the run: there will be no further events of them.
    pub(crate) fn take_unfinished(&mut self) -> Vec<CallRow> {
        let lost: Vec<CallRow> = self.running().cloned().collect();
        for row in self.rows.iter_mut().filter(|row| row.end.is_none()) {
            row.end = Some(ToolState::OutputError {
                outcome: OutcomeKind::Cancelled,
                error_type: None,
                output: serde_json::json!({"message": "stopped"}),
                elapsed_ms: u64::try_from(row.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
                reason: None,
            });
        }
        lost.iter().filter_map(|row| self.find(Some(row.number)).cloned()).collect()
    }
}

impl CallRow {
    /// Returns the tool and the distinctive argument.
    pub(crate) fn label(&self, paint: Styler) -> String {
        let told = identifying_arg(&self.args);
        let told = truncate_to_width(&told, LABEL_CHARS);
        format!("{} {told}", paint.bold(&escape_to_line(&self.tool))).trim_end().to_owned()
    }

    /// Renders the line of a running call.
    pub(crate) fn running(&self, spinner: char, paint: Styler) -> String {
        let elapsed = format_duration(self.begun.elapsed());
        let spinner = paint.styled(Style::CYAN, &spinner.to_string());
        let state = if self.is_asked { " · waits for you" } else { "" };
        let said = match &*self.said {
            "" => String::new(),
            said => format!(" · {}", truncate_to_width(said, ARG_CHARS)),
        };
        let rest = paint.dim(&format!("· {elapsed}{state}{said}"));
        format!("{spinner} {} {rest}", self.label(paint))
    }
}

/// Renders the line of a call that has ended; returns `None` if it has not. In a chat, which has
/// this many columns, the line is shortened and numbered.
pub(crate) fn format_ended(row: &CallRow, paint: Styler, columns: Option<usize>) -> Option<String> {
    let (mark, style, words, elapsed) = match row.end.as_ref()? {
        ToolState::OutputAvailable { elapsed_ms, .. } => {
            ("✓", Style::GREEN, String::new(), Some(*elapsed_ms))
        }
        ToolState::OutputError { outcome, output, elapsed_ms, reason, .. } => {
            let words = format_failure(*outcome, reason.as_deref(), output);
            ("✗", Style::RED, words, Some(*elapsed_ms))
        }
        ToolState::OutputDenied { outcome, output, reason, .. } => {
            ("⊘", Style::YELLOW, format_failure(*outcome, reason.as_deref(), output), None)
        }
        _ => return None,
    };
    let elapsed = elapsed.map(|ms| format!(" · {}", format_duration(Duration::from_millis(ms))));
    let elapsed = elapsed.unwrap_or_default();
    let after = match columns {
        None => format!("{words}{elapsed}"),
        Some(columns) => {
            let end = format!("{elapsed} · #{}", row.number);
            let begin = width(&row.label(Styler { colour: false })) + width(mark) + 1;
            let room = columns.saturating_sub(begin + width(&end));
            format!("{}{end}", truncate_to_width(&words, room.max(12)))
        }
    };
    Some(format!("{} {}{}", paint.styled(style, mark), row.label(paint), paint.dim(&after)))
}

fn format_failure(outcome: OutcomeKind, reason: Option<&str>, output: &Value) -> String {
    let outcome = outcome.as_str().replace('_', " ");
    let words = failure_text(reason, output);
    match words.as_str() {
        "" => format!(" · {outcome}"),
        words if words == outcome => format!(" · {words}"),
        words => format!(" · {outcome}: {words}"),
    }
}

/// Returns the reason why a call failed, in one line: the reason for people, or else the text for
/// the model.
pub(crate) fn failure_text(reason: Option<&str>, output: &Value) -> String {
    if let Some(reason) = reason {
        return escape_to_line(reason);
    }
    match output.get("message") {
        None => String::new(),
        Some(Value::String(text)) => escape_to_line(text),
        Some(other) => escape_to_line(&other.to_string()),
    }
}

/// Returns the most informative argument unchanged; otherwise, all arguments.
fn identifying_arg(args: &RawArgs) -> String {
    let parsed;
    let value = match args {
        RawArgs::Value(value) => value,
        RawArgs::Text(text) => match serde_json::from_str(text) {
            Ok(value) => {
                parsed = value;
                &parsed
            }
            Err(_) => return escape_to_line(text),
        },
        RawArgs::Broken(why) | RawArgs::Sealed(why) => return escape_to_line(why),
    };
    let Some(object) = value.as_object().filter(|object| !object.is_empty()) else {
        return String::new();
    };
    let telling = IDENTIFYING_ARGS.iter().find_map(|name| match object.get(*name)? {
        Value::String(text) => Some(escape_to_line(text)),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            Some(escape_to_line(&words?.join(" ")))
        }
        _ => None,
    });
    telling.unwrap_or_else(|| escape_to_line(&value.to_string()))
}

/// Formats a duration as short as possible.
pub(crate) fn format_duration(time: Duration) -> String {
    let (ms, seconds) = (time.as_millis(), time.as_secs());
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{seconds}.{} s", (ms % 1000) / 100),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolcrib_core::ErrorType;

    const PLAIN: Styler = Styler { colour: false };

    fn event(call: CallId, state: ToolState) -> ToolEvent {
        ToolEvent {
            round: 0,
            index: 0,
            call: Some(call),
            tool: "read_file".into(),
            state,
            report: None,
        }
    }

    #[track_caller]
    fn check(end: ToolState, expected: &str) {
        let (mut calls, call) = (CallTable::default(), CallId::fresh());
        let args = RawArgs::Text(r#"{"limit": 3, "path": "notes\u001b.md"}"#.into());
        calls.record(&event(call, ToolState::InputAvailable { args }));
        assert_eq!(calls.running().count(), 1);
        calls.record(&event(call, end));
        assert_eq!(calls.running().count(), 0);
        assert_eq!(
            format_ended(calls.find(None).unwrap(), PLAIN, Some(200)).as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn a_call_is_one_line() {
        let output = json!({"status": "success", "result": "x"});
        check(
            ToolState::OutputAvailable { output, elapsed_ms: 12, cards: Vec::new() },
            "✓ read_file notes\\u{1b}.md · 12 ms · #1",
        );
        check(
            ToolState::OutputError {
                outcome: OutcomeKind::TimedOut,
                error_type: Some(ErrorType::Timeout),
                output: json!({"message": "It took\ntoo long."}),
                elapsed_ms: 5_250,
                reason: None,
            },
            "✗ read_file notes\\u{1b}.md · timed out: It took too long. · 5.2 s · #1",
        );
        check(
            ToolState::OutputDenied {
                outcome: OutcomeKind::Denied,
                error_type: None,
                output: json!({}),
                elapsed_ms: 1,
                reason: None,
            },
            "⊘ read_file notes\\u{1b}.md · denied · #1",
        );
    }

    #[test]
    fn calls_without_an_end_are_stopped_with_their_run() {
        let mut calls = CallTable::default();
        let args = RawArgs::Value(json!({"n": 1}));
        calls.record(&event(CallId::fresh(), ToolState::InputAvailable { args }));
        let lost = calls.take_unfinished();
        let line = format_ended(&lost[0], PLAIN, Some(200)).unwrap();
        assert!(line.starts_with(r#"✗ read_file {"n":1} · cancelled: stopped"#), "{line}");
        assert!(calls.take_unfinished().is_empty());
    }

    #[test]
    fn times_are_short() {
        let check = |ms, text: &str| assert_eq!(format_duration(Duration::from_millis(ms)), text);
        check(999, "999 ms");
        check(1_000, "1.0 s");
        check(59_990, "59.9 s");
        check(61_000, "1 min 01 s");
    }
}
