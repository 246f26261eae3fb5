//! Trying a tool: whether its configuration is complete, what a call gives, or what would become of one.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::core::OutcomeKind;
use toolcrib_app::{Asking, Forecast};

use super::no_tool;
use super::show::config;
use crate::api::{Json, Path};
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::role::Principal;
use crate::routes::calls::document::{CallDocument, no_answer};
use crate::routes::calls::start::NewCall;
use crate::work::Awaited;

/// How a tool is tried.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TestBody {
    /// Arguments of a call; absent = only the configuration is looked at.
    arguments: Option<Value>,
    /// Whether nothing runs: it is only told what would become of the call.
    dry_run: bool,
}

/// What was found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Tested {
    /// Whether all required configuration has a value.
    complete: bool,
    /// Required configuration without a value.
    missing: Vec<String>,
    /// The same in words: `Configuration looks complete`, or what is missing.
    message: String,
    /// What became of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<CallDocument>,
    /// What would become of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forecast: Option<ForecastDocument>,
}

/// What would become of a call.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct ForecastDocument {
    /// `run`, `ask`, `deny`, or `fail` before it comes to policy.
    would: String,
    /// The operation that policy names.
    operation: Option<String>,
    /// The arguments that it would run with, secrets masked.
    args: Value,
    /// Assessed risk.
    risk: Option<Value>,
    /// Assessed effect.
    effect: Option<Value>,
    /// Assessed reach.
    reach: Option<Value>,
    /// What policy says, with the rule.
    ruling: Option<Value>,
    /// Why a person would be asked.
    reasons: Vec<Value>,
    /// What asking means here, in words.
    asking: Option<String>,
    /// Why it would not run.
    error_type: Option<String>,
    /// The same in words.
    message: Option<String>,
    /// The stages that it passed.
    stages: Vec<Value>,
}

impl From<Forecast> for ForecastDocument {
    fn from(forecast: Forecast) -> Self {
        let report = &forecast.report;
        Self {
            would: would(&forecast).to_owned(),
            operation: report.operation.clone(),
            args: forecast.args.clone(),
            risk: report.risk.map(|risk| json!(risk)),
            effect: report.effect.map(|effect| json!(effect)),
            reach: report.reach.map(|reach| json!(reach)),
            ruling: report.ruling.as_ref().map(|ruling| json!(ruling)),
            reasons: forecast.asks.iter().map(|reason| json!(reason)).collect(),
            asking: forecast.asking.map(|asking| asking.as_str().to_owned()),
            error_type: forecast.refused.as_ref().map(|why| why.error_type.as_str().to_owned()),
            message: forecast.refused.as_ref().map(|why| why.message.clone()),
            stages: report.stages.iter().map(|stage| json!(stage)).collect(),
        }
    }
}

fn would(forecast: &Forecast) -> &'static str {
    match (&forecast.refused, forecast.asking) {
        (Some(error), _) if error.error_type.outcome() == OutcomeKind::Denied => "deny",
        (Some(_), _) => "fail",
        (None, None | Some(Asking::Granted)) => "run",
        (None, Some(Asking::Asked | Asking::Inbox)) => "ask",
        (None, Some(Asking::Nobody | Asking::Background | Asking::Outside)) => "deny",
    }
}

pub(super) async fn test(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(name): Path<String>,
    Json(body): Json<TestBody>,
) -> Result<Json<Tested>, Problem> {
    let spec = daemon.toolcrib().spec(&name).ok_or_else(|| no_tool(&daemon, &name))?;
    let rows = config(&daemon, &spec);
    let missing: Vec<String> =
        rows.into_iter().filter(|row| row.required && !row.set).map(|row| row.key).collect();
    let message = if missing.is_empty() {
        "Configuration looks complete".to_owned()
    } else {
        format!("Configuration is missing: {}", missing.join(", "))
    };
    let mut tested =
        Tested { complete: missing.is_empty(), missing, message, call: None, forecast: None };
    let Some(arguments) = body.arguments else {
        if body.dry_run {
            return Err(Problem::invalid("a dry run needs `arguments`"));
        }
        return Ok(Json(tested));
    };
    let call = NewCall { tool: spec.name.to_string(), arguments }.call();
    let batch = daemon.batch_of(&principal, vec![call]);
    if body.dry_run {
        let forecast = daemon.toolcrib().engine().forecast(batch).await.pop();
        tested.forecast = Some(forecast.ok_or_else(no_answer)?.into());
    } else if let Awaited::Answers(mut answers) =
        daemon.run_calls(&principal, batch, None, None).await?
    {
        tested.call = Some(answers.pop().ok_or_else(no_answer)?.into());
    }
    Ok(Json(tested))
}
