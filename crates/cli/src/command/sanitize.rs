//! `toolcrib sanitize`: what a model would see of a tool's output.

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_app::text::{Sanitised, sanitize, sanitize_bytes};

use crate::cli::Sanitize;
use crate::lines;
use crate::output::{self, Failure};

pub(crate) fn run(command: &Sanitize, json: bool) -> Result<u8, Failure> {
    if command.lines {
        return filter(&command.content_type);
    }
    let raw = output::input()?;
    let sanitised = sanitize_bytes(&raw, &command.content_type);
    if json {
        output::document(&reply(&sanitised), true)?;
        return Ok(0);
    }
    if command.report {
        report(&sanitised);
    }
    output::exactly(&sanitised.text)?;
    Ok(0)
}

fn report(sanitised: &Sanitised<'_>) {
    if sanitised.changes.is_empty() {
        output::note("nothing was neutralised");
    }
    for change in &sanitised.changes {
        output::note(&format!("neutralised: {change}"));
    }
    for flag in &sanitised.flags {
        output::note(&format!("flagged: {flag}"));
    }
    if sanitised.flags.is_empty() {
        output::note("not flagged");
    }
}

fn reply(sanitised: &Sanitised<'_>) -> Value {
    json!({
        "text": sanitised.text,
        "flagged": sanitised.flagged(),
        "changes": sanitised.changes,
        "flags": sanitised.flags,
    })
}

#[derive(Deserialize)]
struct Line {
    text: String,
    content_type: Option<String>,
}

fn filter(content_type: &str) -> Result<u8, Failure> {
    lines::answer(|line: Line| {
        let content_type = line.content_type.as_deref().unwrap_or(content_type);
        Ok(lines::object(reply(&sanitize(&line.text, content_type))))
    })
}
