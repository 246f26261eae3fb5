//! The stage trace of a call, for people and for machines.

use serde_json::{Value, json};
use toolcrib_core::{Answer, Outcome, StageRecord, StageVerdict};

use crate::output;

/// Prints the trace of one call on standard error.
pub(crate) fn print(answer: &Answer, provider_id: Option<&str>, as_json: bool) {
    match answer {
        Answer::Done(outcome) if as_json => {
            output::eprint_line(&to_json(outcome, provider_id).to_string());
        }
        Answer::Done(outcome) => output::eprint_line(&to_text(outcome)),
        Answer::Suspended(request) => {
            output::eprint_line(&format!("{} waits for approval {}", request.tool, request.id));
        }
    }
}

fn to_json(outcome: &Outcome, provider_id: Option<&str>) -> Value {
    json!({
        "call": outcome.call,
        "provider_id": provider_id,
        "asked": outcome.asked,
        "tool": outcome.tool,
        "outcome": outcome.kind,
        "error_type": outcome.error_type(),
        "notes": outcome.notes,
        "report": outcome.report,
    })
}

fn to_text(outcome: &Outcome) -> String {
    format_stages(&format!("{} {}", outcome.asked, outcome.kind), &outcome.report.stages)
}

/// Renders the decision of every stage, one line each.
pub(crate) fn format_stages(title: &str, stages: &[StageRecord]) -> String {
    let total: u64 = stages.iter().map(|record| record.nanos).sum();
    let mut lines = vec![format!("{title} in {}", duration(total))];
    for record in stages {
        let verdict = match record.verdict {
            StageVerdict::Pass => "pass",
            StageVerdict::Changed => "changed",
            StageVerdict::Skipped => "-",
            StageVerdict::Stopped => "STOPPED",
            StageVerdict::Suspended => "WAITS",
        };
        let line = format!(
            "  {:>2} {:<8} {:<8} {:>10}  {}",
            record.stage as u8,
            record.stage.as_str(),
            verdict,
            duration(record.nanos),
            record.note
        );
        lines.push(line.trim_end().to_owned());
    }
    toolcrib_sanitizer::sanitize(&lines.join("\n"), "text/plain").text.into_owned()
}

fn duration(nanos: u64) -> String {
    match nanos as f64 / 1000.0 {
        micros if micros < 1000.0 => format!("{micros:.1} us"),
        micros => format!("{:.1} ms", micros / 1000.0),
    }
}
