//! `toolcrib tool call --dry-run`: predicts the outcome of a call, with the stages that a real call
//! passes; nothing runs.

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_core::{Batch, Verdict};
use toolcrib_ops::advice;
use toolcrib_ops::tools::{self, DryRunDocument, DryRunReply, DryRunRequest, Prediction};

use super::lookup;
use crate::output::{self, Failure};
use crate::{op_context, stage_trace, terminal};

/// Exit code of a call that would be denied.
const EXIT_DENIED: u8 = 5;
/// Exit code of a call that would ask a person.
const EXIT_APPROVAL_NEEDED: u8 = 6;

pub(super) async fn run(
    toolcrib: &Toolcrib,
    name: &str,
    batch: Batch,
    (explain, json): (bool, bool),
) -> Result<u8, Failure> {
    let ctx = op_context::for_toolcrib(toolcrib, None);
    let forecast = tools::dry_run(&ctx, DryRunRequest { batch }).await?;
    if json {
        output::print_json(&json!(DryRunDocument::from(&forecast)), true)?;
    } else {
        output::print_line(&to_text(&forecast))?;
    }
    if explain {
        output::eprint_line(&stage_trace::format_stages(
            &format!("{name} would go"),
            &forecast.stages,
        ));
    }
    Ok(exit_code(&forecast))
}

fn exit_code(forecast: &DryRunReply) -> u8 {
    match (&forecast.refused, forecast.would) {
        (Some(error), _) => error.error_type.exit_code(),
        (None, Prediction::Run) => 0,
        (None, Prediction::Ask) => EXIT_APPROVAL_NEEDED,
        (None, Prediction::Deny | Prediction::Fail) => EXIT_DENIED,
    }
}

fn to_text(forecast: &DryRunReply) -> String {
    let tool = forecast.tool.as_ref().map_or(forecast.asked.as_str(), |tool| tool.as_str());
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let mut text =
        format!("{}: it would {}\n\n", terminal::escape_to_line(tool), predicted_text(forecast));
    let mut line = |name: &str, words: &str| {
        if !words.is_empty() {
            text += &format!("{name:<13} {}\n", terminal::escape_to_line(words));
        }
    };
    line("operation", forecast.operation.as_deref().unwrap_or_default());
    if !forecast.args.is_null() {
        line("arguments", &forecast.args.to_string());
    }
    line("risk", &word(json!(forecast.risk)));
    line("effect", &word(json!(forecast.effect)));
    line("reach", &forecast.reach.map(lookup::reach_text).unwrap_or_default());
    if let Some(said) = &forecast.ruling {
        line("policy", &advice::ruling_line(said));
        line("rule", &said.rule.as_ref().map(ToString::to_string).unwrap_or_default());
    }
    for reason in &forecast.reasons {
        line("asks", &terminal::describe_reason(reason));
    }
    line("asking means", forecast.asking.as_deref().unwrap_or_default());
    if let Some(error) = &forecast.refused {
        line(
            "refused",
            &format!(
                "{} ({})",
                error.for_people.as_deref().unwrap_or(&error.message),
                error.error_type
            ),
        );
    }
    if let Some(advice) = forecast.advice() {
        text += &format!("\n{}\n", terminal::escape_to_line(&advice));
    }
    text
}

fn predicted_text(forecast: &DryRunReply) -> &'static str {
    let asks = forecast.ruling.as_ref().is_some_and(|said| said.verdict == Verdict::Ask);
    match forecast.would {
        Prediction::Run if asks => "run, because it was approved before",
        Prediction::Run => "run",
        Prediction::Ask => "wait for a person",
        Prediction::Deny if asks => "be denied, because there is no approver",
        Prediction::Deny => "be denied",
        Prediction::Fail => "fail before it runs",
    }
}
