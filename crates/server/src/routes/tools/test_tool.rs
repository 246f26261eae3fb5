//! Tests a tool: whether its configuration is complete, the result of a call, or the predicted
//! ruling on one.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_ops::calls::CallDocument;
use toolcrib_ops::tools::{self, DryRunDocument, DryRunRequest, find_tool};

use crate::active_requests::CallsReply;
use crate::admission::AdmittedCaller;
use crate::api::{Json, Path};
use crate::problem::Problem;
use crate::routes::calls::document::no_answer;
use crate::routes::calls::start::{NewCall, context_request, in_context};
use crate::state::DaemonState;

/// Options of the test.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TestBody {
    /// Arguments of a call; absent = only the configuration is checked.
    arguments: Option<Value>,
    /// Whether nothing runs: the response only has the predicted ruling.
    dry_run: bool,
    /// Name of the agent that makes the call, as for `POST /calls`.
    agent: Option<String>,
    /// A conversation of the caller, as for `POST /calls`.
    conversation: Option<String>,
    /// What the call is about, as for `POST /calls`.
    topic: Option<String>,
}

/// The findings.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Tested {
    /// Whether all required configuration has a value.
    complete: bool,
    /// Required configuration without a value.
    missing: Vec<String>,
    /// The result in words: `Configuration looks complete`, or what is missing.
    message: String,
    /// The outcome of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<CallDocument>,
    /// The predicted verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forecast: Option<DryRunDocument>,
}

pub(super) async fn test(
    State(daemon): State<DaemonState>,
    principal: AdmittedCaller,
    Path(name): Path<String>,
    Json(body): Json<TestBody>,
) -> Result<Json<Tested>, Problem> {
    let spec = find_tool(daemon.toolcrib(), &name)?;
    let rows = tools::config(daemon.toolcrib(), &spec);
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
    let batch = daemon.calls().build_batch(&principal, vec![call]);
    let context = context_request(body.agent, body.conversation.as_deref(), body.topic)?;
    let batch = in_context(&daemon, &principal, batch, context).await?;
    if body.dry_run {
        let ctx = daemon.op_context(&principal, None);
        let reply = tools::dry_run(&ctx, DryRunRequest { batch }).await?;
        tested.forecast = Some(DryRunDocument::from(&reply));
    } else if let CallsReply::Answers(mut answers) =
        daemon.calls().run(&principal, batch, None, None).await?
    {
        tested.call = Some(answers.pop().ok_or_else(no_answer)?.into());
    }
    Ok(Json(tested))
}
