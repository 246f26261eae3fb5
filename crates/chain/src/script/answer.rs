//! What a model is told of a script: what it printed and returned, and what it called, however it ended.

use serde_json::{Value, json};
use toolcrib_core::{Block, CallCtx, ToolOutput};

use super::book::{Book, Line, Status};
use super::drive::{Chain, End};
use super::policy::MOST_ASKED;
use crate::answer::files;
use crate::expression::Death;
use crate::protocol::{Made, Raised, Shown, head};

/// Characters of the words of an error (SPEC 4.4).
const ERROR_CHARS: usize = 2000;

/// Bytes of what was printed, of the value and of a traceback that are shown: with a trace of fifty calls this stays below what a model is given of
/// one result (20,000), so that the trace is never cut.
const PRINTED_BYTES: usize = 6000;
const VALUE_BYTES: usize = 6000;
const TRACEBACK_BYTES: usize = 3000;

/// What is said of a script that did not end by itself.
fn stopped(end: &End, seconds: f64) -> Option<(&'static str, String)> {
    match end {
        End::TimedOut => Some((
            "timeout",
            format!(
                "The script timed out after {seconds}s. Do less in one script, or give a longer timeout (at most 300)."
            ),
        )),
        End::Died(death) => {
            let why = match death {
                Death::Memory => "it wanted more memory than it may have",
                Death::Stack => "it is nested too deeply",
                Death::Limit(stop) => stop.because(),
                Death::Other(_) => "its process ended",
            };
            Some(("error", format!("The script did not come to an end: {why}.")))
        }
        End::AskedTooOften => Some((
            "error",
            format!(
                "The script was ended: it asked more than {MOST_ASKED} times for tools. Ask for less in one script."
            ),
        )),
        End::Done(_) | End::Waits { .. } | End::Unreadable => None,
    }
}

/// The result of a script, with the files that it made.
pub(super) fn answer(
    chain: Chain<'_>,
    end: End,
    made: Vec<(Made, Option<Vec<u8>>)>,
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
    if let End::Done(done) = end {
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
    let mut output = ToolOutput::of(content).with_structured(structured);
    output.is_error = is_error;
    output.trust = Some(trust);
    output
}

fn trace(raised: &Raised) -> String {
    if raised.trace.is_empty() { raised.kind.clone() } else { raised.trace.clone() }
}

/// What was printed, or both its ends and where the whole is.
fn printed(ctx: &CallCtx, block: Option<Block>) -> Option<String> {
    match block? {
        Block::Text { text, .. } => Some(bounded(ctx, text, "text/plain", PRINTED_BYTES).0),
        Block::Spilled { preview, total_bytes, artifact, .. } => {
            let whole = artifact.map(|artifact| artifact.0);
            Some(format!(
                "{}\n{}",
                ends(&preview, PRINTED_BYTES),
                place(total_bytes, whole.as_ref())
            ))
        }
        _ => None,
    }
    .map(|text| text.trim_end().to_owned())
}

/// What the script returned: as JSON where it is data, else as Python shows it; and the reference of the whole, where this is a part.
fn returned(ctx: &CallCtx, value: &Shown, data: Option<&Value>) -> (String, Option<String>) {
    let (text, media_type) = match data {
        Some(Value::String(text)) => (text.clone(), "text/plain"),
        Some(data) => (data.to_string(), "application/json"),
        None => (value.text.clone(), "text/plain"),
    };
    bounded(ctx, text, media_type, VALUE_BYTES)
}

/// A text, or both its ends, and the reference of the whole.
fn bounded(ctx: &CallCtx, text: String, media_type: &str, most: usize) -> (String, Option<String>) {
    if text.len() <= most {
        return (text, None);
    }
    let whole = super::told::stored(ctx, media_type, text.as_bytes());
    let line = place(text.len() as u64, whole.as_ref());
    (format!("{}\n{line}", ends(&text, most)), whole)
}

fn place(bytes: u64, whole: Option<&String>) -> String {
    match whole {
        Some(whole) => {
            format!("[{bytes} bytes in all; the whole is read with read_artifact(ref=\"{whole}\")]")
        }
        None => format!("[{bytes} bytes in all; the rest could not be stored]"),
    }
}

/// A text without its middle where it is longer than this.
fn ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    format!("{}\n…\n{}", head(text, most / 2), text.get(tail..).unwrap_or_default())
}

/// The calls in words: all of them where the script failed, so that nothing is done twice; else those that did not go well.
fn calls(book: &Book, all: bool) -> Vec<String> {
    let mut lines: Vec<String> = book
        .lines
        .iter()
        .enumerate()
        .filter(|(_, line)| all || line.status != Status::Ok)
        .map(|(place, line)| said(place, line))
        .collect();
    if all && !lines.is_empty() {
        lines.insert(0, "Calls that the script made; those with ok have taken effect:".to_owned());
    }
    lines
}

fn said(place: usize, line: &Line) -> String {
    let Line { tool, args_digest, status, duration_ms, .. } = line;
    format!("{}. {tool} {} {duration_ms}ms (arguments {args_digest})", place + 1, status.as_str())
}
