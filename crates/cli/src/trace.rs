//! The stage trace of a call, for people and for machines.

use serde_json::{Value, json};
use toolcrib_app::core::{Answer, Outcome, Report, StageVerdict};

use crate::output;

/// Prints the trace of one call on standard error.
pub(crate) fn print(answer: &Answer, provider_id: Option<&str>, as_json: bool) {
    match answer {
        Answer::Done(outcome) if as_json => {
            output::note(&machine(outcome, provider_id).to_string());
        }
        Answer::Done(outcome) => output::note(&people(outcome)),
        Answer::Suspended(request) => {
            output::note(&format!("{} waits for approval {}", request.tool, request.id));
        }
    }
}

fn machine(outcome: &Outcome, provider_id: Option<&str>) -> Value {
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

fn people(outcome: &Outcome) -> String {
    stages(&format!("{} {}", outcome.asked, outcome.kind), &outcome.report)
}

/// What every stage decided, one line each.
pub(crate) fn stages(title: &str, report: &Report) -> String {
    let total: u64 = report.stages.iter().map(|record| record.nanos).sum();
    let mut lines = vec![format!("{title} in {}", duration(total))];
    for record in &report.stages {
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
    toolcrib_app::text::sanitize(&lines.join("\n"), "text/plain").text.into_owned()
}

fn duration(nanos: u64) -> String {
    match nanos as f64 / 1000.0 {
        micros if micros < 1000.0 => format!("{micros:.1} us"),
        micros => format!("{:.1} ms", micros / 1000.0),
    }
}
