//! `toolcrib sanitize`: shows a model's view of a tool's output.

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_sanitizer::{Sanitized, sanitize, sanitize_bytes};

use crate::clap_args::Sanitize;
use crate::jsonl;
use crate::output::{self, Failure};

pub(crate) fn run(command: &Sanitize, json: bool) -> Result<u8, Failure> {
    if command.lines {
        return sanitize_jsonl(&command.content_type);
    }
    let raw = output::read_stdin()?;
    let sanitised = sanitize_bytes(&raw, &command.content_type);
    if json {
        output::print_json(&to_json(&sanitised), true)?;
        return Ok(0);
    }
    if command.report {
        print_report(&sanitised);
    }
    output::print_raw(&sanitised.text)?;
    Ok(0)
}

fn print_report(sanitised: &Sanitized<'_>) {
    if sanitised.changes.is_empty() {
        output::eprint_line("nothing was neutralised");
    }
    for change in &sanitised.changes {
        output::eprint_line(&format!("neutralised: {change}"));
    }
    for flag in &sanitised.flags {
        output::eprint_line(&format!("flagged: {flag}"));
    }
    if sanitised.flags.is_empty() {
        output::eprint_line("not flagged");
    }
}

fn to_json(sanitised: &Sanitized<'_>) -> Value {
    json!({
        "text": sanitised.text,
        "flagged": sanitised.flagged(),
        "changes": sanitised.changes,
        "flags": sanitised.flags,
    })
}

#[derive(Deserialize)]
struct SanitizeRequest {
    text: String,
    content_type: Option<String>,
}

fn sanitize_jsonl(content_type: &str) -> Result<u8, Failure> {
    jsonl::run_filter(|line: SanitizeRequest| {
        let content_type = line.content_type.as_deref().unwrap_or(content_type);
        Ok(jsonl::into_object(to_json(&sanitize(&line.text, content_type))))
    })
}
