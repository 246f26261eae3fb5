//! Renders the result of a script for the model: output, value and call trace, for every way in
//! which a script can end.

use serde_json::{Value, json};
use toolcrib_core::{Block, CallCtx, ErrorType, ToolOutput};

use super::call_log::{CallLog, CallLogEntry, CallStatus};
use super::execute::{ScriptEnd, ScriptRun};
use super::script_limits::MAX_QUERIES;
use crate::render_result::files;
use crate::worker_process::Death;
use crate::worker_protocol::{CreatedFile, PythonException, ValueRepr, head};

/// Maximum characters of an error message.
const ERROR_CHARS: usize = 2000;

/// Maximum bytes shown of the output, of the value and of a traceback: with a trace of fifty calls
/// the result stays below the limit of 20,000, so that the trace is never truncated.
const PRINTED_BYTES: usize = 6000;
const VALUE_BYTES: usize = 6000;
const TRACEBACK_BYTES: usize = 3000;

/// Status and message of a script that was stopped or whose process died.
fn stopped(end: &ScriptEnd, seconds: f64) -> Option<(&'static str, String)> {
    match end {
        ScriptEnd::TimedOut => Some((
            "timeout",
            format!(
                "The script timed out after {seconds}s. Do less in one script, or give a longer timeout (at most 300)."
            ),
        )),
        ScriptEnd::Died(death) => {
            let why = match death {
                Death::Memory => "it wanted more memory than it may have",
                Death::Stack => "it is nested too deeply",
                Death::Limit(stop) => stop.message(),
                Death::Other(_) => "its process ended",
            };
            Some(("error", format!("The script did not come to an end: {why}.")))
        }
        ScriptEnd::AskedTooOften => Some((
            "error",
            format!(
                "The script was ended: it asked more than {MAX_QUERIES} times for tools. Ask for less in one script."
            ),
        )),
        ScriptEnd::Done(_) | ScriptEnd::Waits { .. } | ScriptEnd::Unreadable => None,
    }
}

/// Renders the result of a script, with the files that it created.
pub(super) fn render(
    chain: ScriptRun<'_>,
    end: ScriptEnd,
    made: Vec<(CreatedFile, Option<Vec<u8>>)>,
    sandbox: &str,
    engine: &str,
) -> ToolOutput {
    let spent = chain.spent();
    let (book, trust, advice) = (chain.book, chain.trust, chain.advice);
    let ctx = chain.ctx;
    let mut lines: Vec<String> = printed(ctx, chain.printed.finish()).into_iter().collect();
    let stopped = stopped(&end, chain.limit.as_secs_f64());
    let (mut value, mut data, mut raised) = (None, None, None);
    let mut stored = None;
    if let ScriptEnd::Done(done) = end {
        (value, data, raised) = (done.value, done.data.map(|data| *data), done.raised);
    }
    if let Some(value) = &value {
        let name = if lines.is_empty() { "" } else { "Value: " };
        let (shown, whole) = returned(ctx, value, data.as_ref());
        lines.push(format!("{name}{shown}"));
        stored = whole;
    }
    let (status, error) = match (&stopped, &raised) {
        (Some((status, words)), _) => {
            lines.push(words.clone());
            (*status, Some(json!({"message": words})))
        }
        (None, Some(raised)) => {
            lines.push(ends(&trace(raised), TRACEBACK_BYTES));
            lines.extend(advice.map(str::to_owned));
            let message: String = raised.message.chars().take(ERROR_CHARS).collect();
            ("error", Some(json!({"type": raised.kind, "message": message, "line": raised.line})))
        }
        (None, None) => ("ok", None),
    };
    let is_error = status != "ok";
    let (files, pictures) = files(ctx, made, &mut lines);
    lines.extend(calls(&book, is_error));
    let millis = spent.as_millis();
    lines.push(format!("[chain: {} tool calls in {millis}ms]", book.lines.len()));
    let structured = json!({
        "status": status,
        "value": data.as_ref().filter(|_| stored.is_none()),
        "value_ref": stored,
        "tool_calls": book.lines.len(),
        "duration_ms": u64::try_from(millis).unwrap_or(u64::MAX),
        "error": error,
        "sandbox": sandbox,
        "engine": engine,
        "files": files,
        "call_trace": book.lines,
    });
    let mut content = vec![Block::text(lines.join("\n"))];
    content.extend(pictures);
    let mut output = ToolOutput::from_blocks(content).with_structured(structured);
    output.is_error = is_error;
    output.error_type = (status == "timeout").then_some(ErrorType::Timeout);
    output.trust = Some(trust);
    output
}

fn trace(raised: &PythonException) -> String {
    if raised.trace.is_empty() { raised.kind.clone() } else { raised.trace.clone() }
}

/// Returns the output, or both its ends and the reference to the whole.
fn printed(ctx: &CallCtx, block: Option<Block>) -> Option<String> {
    match block? {
        Block::Text { text, .. } => Some(bounded(ctx, text, "text/plain", PRINTED_BYTES).0),
        Block::Spilled { preview, total_bytes, artifact, .. } => {
            let whole = artifact.map(|artifact| artifact.0);
            Some(format!(
                "{}\n{}",
                ends(&preview, PRINTED_BYTES),
                truncation_note(total_bytes, whole.as_ref())
            ))
        }
        _ => None,
    }
    .map(|text| text.trim_end().to_owned())
}

/// Returns the returned value, as JSON if it is data, otherwise as its `repr`; with a reference to
/// the whole if this is a part.
fn returned(ctx: &CallCtx, value: &ValueRepr, data: Option<&Value>) -> (String, Option<String>) {
    let (text, media_type) = match data {
        Some(Value::String(text)) => (text.clone(), "text/plain"),
        Some(data) => (data.to_string(), "application/json"),
        None => (value.text.clone(), "text/plain"),
    };
    bounded(ctx, text, media_type, VALUE_BYTES)
}

/// Returns a text, or both its ends and the reference to the whole.
fn bounded(ctx: &CallCtx, text: String, media_type: &str, most: usize) -> (String, Option<String>) {
    if text.len() <= most {
        return (text, None);
    }
    let whole = super::call_reply::store_artifact(ctx, media_type, text.as_bytes());
    let line = truncation_note(text.len() as u64, whole.as_ref());
    (format!("{}\n{line}", ends(&text, most)), whole)
}

fn truncation_note(bytes: u64, whole: Option<&String>) -> String {
    match whole {
        Some(whole) => {
            format!("[{bytes} bytes in all; the whole is read with read_artifact(ref=\"{whole}\")]")
        }
        None => format!("[{bytes} bytes in all; the rest could not be stored]"),
    }
}

/// Returns a text without its middle if it is longer than `most`.
fn ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    format!("{}\n…\n{}", head(text, most / 2), text.get(tail..).unwrap_or_default())
}

/// Returns the calls as text: all of them if the script failed, so that the model repeats none;
/// otherwise those that did not succeed.
fn calls(book: &CallLog, all: bool) -> Vec<String> {
    let mut lines: Vec<String> = book
        .lines
        .iter()
        .enumerate()
        .filter(|(_, line)| all || line.status != CallStatus::Ok)
        .map(|(place, line)| render_call(place, line))
        .collect();
    if all && !lines.is_empty() {
        lines.insert(0, "Calls that the script made; those with ok have taken effect:".to_owned());
    }
    lines
}

fn render_call(place: usize, line: &CallLogEntry) -> String {
    let CallLogEntry { tool, args_digest, status, duration_ms, .. } = line;
    format!("{}. {tool} {} {duration_ms}ms (arguments {args_digest})", place + 1, status.as_str())
}
