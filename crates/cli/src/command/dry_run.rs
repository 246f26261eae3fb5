//! `toolcrib tool call --dry-run`: what would become of a call, through the stages that a real one passes, and nothing run.

use serde_json::{Value, json};
use toolcrib_app::core::{Batch, Call, Origin, OutcomeKind, RawArgs, Verdict};
use toolcrib_app::{Asking, Forecast, Toolcrib};

use super::ruling;
use crate::output::{self, Failure};
use crate::{terminal, trace};

/// Exit code of a call that would be denied (DESIGN 7).
const DENIED: u8 = 5;
/// Exit code of a call that a person would be asked about (DESIGN 7).
const ASKED: u8 = 6;

pub(super) async fn run(
    toolcrib: &Toolcrib,
    name: &str,
    args: RawArgs,
    (explain, json): (bool, bool),
) -> Result<u8, Failure> {
    let batch = toolcrib.batch_of(vec![Call::new(name, args)], Origin::Cli);
    let forecast = forecast(toolcrib, batch).await?;
    if json {
        output::document(&machine(&forecast), true)?;
    } else {
        output::data(&people(&forecast))?;
    }
    if explain {
        output::note(&trace::stages(&format!("{name} would go"), &forecast.report));
    }
    Ok(code(&forecast))
}

async fn forecast(toolcrib: &Toolcrib, batch: Batch) -> Result<Forecast, Failure> {
    let mut forecasts = toolcrib.engine().forecast(batch).await;
    forecasts.pop().ok_or_else(|| Failure::run("the door gave no answer"))
}

/// What would happen: `run`, `ask`, `deny`, or `fail` before it comes to policy.
fn would(forecast: &Forecast) -> &'static str {
    match (&forecast.refused, forecast.asking) {
        (Some(error), _) if error.error_type.outcome() == OutcomeKind::Denied => "deny",
        (Some(_), _) => "fail",
        (None, None | Some(Asking::Granted)) => "run",
        (None, Some(Asking::Asked | Asking::Inbox)) => "ask",
        (None, Some(Asking::Nobody | Asking::Background | Asking::Outside)) => "deny",
    }
}

fn code(forecast: &Forecast) -> u8 {
    match (&forecast.refused, would(forecast)) {
        (Some(error), _) => error.error_type.exit_code(),
        (None, "run") => 0,
        (None, "ask") => ASKED,
        (None, _) => DENIED,
    }
}

fn advice(forecast: &Forecast) -> Option<String> {
    let report = &forecast.report;
    let tool = forecast.tool.as_ref().map_or(forecast.asked.as_str(), |tool| tool.as_str());
    let operation = report.operation.as_deref().unwrap_or(tool);
    match (&report.ruling, &forecast.refused) {
        (Some(said), _) => ruling::advice(said, tool, operation),
        (None, Some(error)) => ruling::advice_on(error.error_type, tool),
        (None, None) => None,
    }
}

fn machine(forecast: &Forecast) -> Value {
    let report = &forecast.report;
    json!({
        "would": would(forecast),
        "tool": forecast.tool,
        "asked": forecast.asked,
        "operation": report.operation,
        "args": forecast.args,
        "risk": report.risk,
        "effect": report.effect,
        "reach": report.reach,
        "ruling": report.ruling,
        "labels": report.labels,
        "reasons": forecast.asks,
        "asking": forecast.asking.map(Asking::as_str),
        "error_type": forecast.refused.as_ref().map(|error| error.error_type),
        "message": forecast.refused.as_ref().map(|error| &error.message),
        "advice": advice(forecast),
        "stages": report.stages,
    })
}

fn people(forecast: &Forecast) -> String {
    let report = &forecast.report;
    let tool = forecast.tool.as_ref().map_or(forecast.asked.as_str(), |tool| tool.as_str());
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let mut text = format!("{}: it would {}\n\n", terminal::one_line(tool), said(forecast));
    let mut line = |name: &str, words: &str| {
        if !words.is_empty() {
            text += &format!("{name:<13} {}\n", terminal::one_line(words));
        }
    };
    line("operation", report.operation.as_deref().unwrap_or_default());
    if !forecast.args.is_null() {
        line("arguments", &forecast.args.to_string());
    }
    line("risk", &word(json!(report.risk)));
    line("effect", &word(json!(report.effect)));
    line("reach", &reach(forecast));
    if let Some(said) = &report.ruling {
        line("policy", &ruling::line(said));
        line("rule", &said.rule.as_ref().map(ToString::to_string).unwrap_or_default());
    }
    for reason in &forecast.asks {
        line("asks", &terminal::because(reason));
    }
    line("asking means", forecast.asking.map(Asking::as_str).unwrap_or_default());
    if let Some(error) = &forecast.refused {
        line("refused", &format!("{} ({})", error.message, error.error_type));
    }
    if let Some(advice) = advice(forecast) {
        text += &format!("\n{}\n", terminal::one_line(&advice));
    }
    text
}

fn said(forecast: &Forecast) -> &'static str {
    let asks = forecast.report.ruling.as_ref().is_some_and(|said| said.verdict == Verdict::Ask);
    match would(forecast) {
        "run" if asks => "run, because it was approved before",
        "run" => "run",
        "ask" => "wait for a person",
        "deny" if asks => "be denied, because nobody could approve it",
        "deny" => "be denied",
        _ => "fail before it runs",
    }
}

fn reach(forecast: &Forecast) -> String {
    let Some(reach) = forecast.report.reach else { return String::new() };
    let parts = [
        (reach.outbound, "sends outside this machine"),
        (reach.exec, "runs programs"),
        (reach.private_read, "reads private data"),
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    if parts.is_empty() { "this machine".to_owned() } else { parts.join(", ") }
}
