//! What a model is told of a script: what it printed and returned, and what it called, however it ended.

use serde_json::{Value, json};
use toolcrib_core::{Block, ToolOutput};

use super::book::{Book, Line, Status};
use super::drive::{Chain, End};
use crate::expression::Death;
use crate::protocol::{Raised, Shown, head};

/// Characters of the words of an error (SPEC 4.4).
const ERROR_CHARS: usize = 2000;

/// What is said of a script that did not end by itself.
fn stopped(end: &End, seconds: f64) -> Option<(&'static str, String)> {
    match end {
        End::TimedOut => Some((
            "timeout",
            format!("The script timed out after {seconds}s. Do less in one script, or give a longer timeout (at most 300)."),
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
        End::Done(_) | End::Waits { .. } | End::Unreadable => None,
    }
}

/// The result of a script.
pub(super) fn answer(chain: Chain<'_>, end: End, sandbox: &str, engine: &str) -> ToolOutput {
    let spent = chain.spent();
    let (book, trust) = (chain.book, chain.trust);
    let mut content: Vec<Block> = chain.printed.finish().into_iter().collect();
    let mut lines: Vec<String> = Vec::new();
    let stopped = stopped(&end, chain.limit.as_secs_f64());
    let (mut value, mut data, mut raised) = (None, None, None);
    if let End::Done(done) = end {
        (value, data, raised) = (done.value, done.data, done.raised);
    }
    if let Some(value) = &value {
        lines.push(returned(value, data.as_ref(), !content.is_empty()));
    }
    let (status, error) = match (&stopped, &raised) {
        (Some((status, words)), _) => {
            lines.push(words.clone());
            (*status, Some(json!({"message": words})))
        }
        (None, Some(raised)) => {
            lines.push(trace(raised));
            let message: String = raised.message.chars().take(ERROR_CHARS).collect();
            ("error", Some(json!({"type": raised.kind, "message": message, "line": raised.line})))
        }
        (None, None) => ("ok", None),
    };
    let is_error = status != "ok";
    lines.extend(calls(&book, is_error));
    let millis = spent.as_millis();
    lines.push(format!("[chain: {} tool calls in {millis}ms]", book.lines.len()));
    content.push(Block::text(lines.join("\n")));
    let structured = json!({
        "status": status,
        "value": data,
        "repr": value.as_ref().filter(|_| data.is_none()).map(|value| head(&value.text, 4096)),
        "tool_calls": book.lines.len(),
        "duration_ms": u64::try_from(millis).unwrap_or(u64::MAX),
        "error": error,
        "sandbox": sandbox,
        "engine": engine,
        "call_trace": book.lines,
    });
    let mut output = ToolOutput::of(content).with_structured(structured);
    output.is_error = is_error;
    output.trust = Some(trust);
    output
}

fn trace(raised: &Raised) -> String {
    if raised.trace.is_empty() { raised.kind.clone() } else { raised.trace.clone() }
}

/// What the script returned: as JSON where it is data, else as Python shows it.
fn returned(value: &Shown, data: Option<&Value>, named: bool) -> String {
    let name = if named { "Value: " } else { "" };
    let text = match data {
        Some(Value::String(text)) => text.clone(),
        Some(data) => data.to_string(),
        None => value.text.clone(),
    };
    let cut = match data {
        None if value.bytes > value.text.len() as u64 => {
            format!("\n(The first {} of {} bytes.)", value.text.len(), value.bytes)
        }
        _ => String::new(),
    };
    format!("{name}{text}{cut}")
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
