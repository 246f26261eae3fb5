//! What would become of a call, and which rule decides.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::rules::{MAX_COMMAND_LINE_BYTES, RuleQuery};
use toolcrib_core::{Batch, Call, Clock as _, Context, Origin, RawArgs, SystemClock};

use super::body::Effect;
use crate::api::{Json, run_cpu_bound};
use crate::problem::{Code, Problem};
use crate::role::Principal;
use crate::state::DaemonState;

/// The tool that runs command lines.
const SHELL: &str = "shell";

/// A hypothetical call.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ExplainBody {
    /// A command line, instead of a tool and its arguments.
    command: Option<String>,
    /// Name of a tool.
    tool: Option<String>,
    /// Its arguments.
    args: Option<Value>,
    /// Agent that calls; empty = none.
    agent: String,
    /// Channel of the call; default `chat`.
    channel: Option<String>,
}

/// The ruling on a call.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RuleExplained")]
pub(super) struct Explained {
    /// The verdict: `allow`, `ask` or `deny`; absent = the call is refused earlier, see `refused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Effect>,
    /// Who decides: `rule`, `preset`, `permission`, `taint`, `tool`, `switch` or `gate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Value>,
    /// Why, in words.
    reason: String,
    /// The rule that speaks of the whole call, with where it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<Value>,
    /// Parts of a command line with what rules say of each.
    segments: Value,
    /// What asking means for this caller, when a person is to be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asking: Option<String>,
    /// Why the call would not run, in the words that its caller would get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<Value>,
}

pub(super) async fn explain_call(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<ExplainBody>,
) -> Result<Json<Explained>, Problem> {
    if body.command.as_ref().is_some_and(|line| line.len() > MAX_COMMAND_LINE_BYTES) {
        let detail = format!("a command line has at most {MAX_COMMAND_LINE_BYTES} bytes");
        return Err(Problem::new(Code::TooLarge, detail));
    }
    let (on, Principal { owner, client, .. }) = (daemon.clone(), principal);
    let work = async move { explain(&on, owner, body).await };
    Ok(Json(run_cpu_bound(&daemon, &client, work).await?))
}

async fn explain(
    daemon: &DaemonState,
    owner: String,
    body: ExplainBody,
) -> Result<Explained, Problem> {
    let (name, args) = match (body.command, body.tool, body.args) {
        (Some(line), None, None) => (SHELL.to_owned(), json!({"command": line})),
        (None, Some(tool), args) => (tool, args.unwrap_or_else(|| json!({}))),
        _ => return Err(Problem::invalid("say a `command`, or a `tool` with its `args`")),
    };
    let toolcrib = daemon.toolcrib();
    let channel = body.channel.unwrap_or_else(|| "chat".to_owned());
    let batch = toolcrib
        .manual_batch(vec![Call::new(name.clone(), RawArgs::Value(args.clone()))], Origin::Rest);
    let context = Context { owner, agent: body.agent, channel, ..Context::clone(&batch.context) };
    let context = Arc::new(context);
    let batch = Batch { context: Arc::clone(&context), ..batch };
    let Some(forecast) = toolcrib.engine().dry_run(batch).await.pop() else {
        return Err(Problem::new(Code::Internal, "nothing can be said of this call"));
    };
    let spec = toolcrib.spec(&name);
    let tool = spec.as_ref().map_or_else(|| name.clone(), |spec| spec.name.to_string());
    let args = if forecast.args.is_null() { args } else { forecast.args };
    let asked = RuleQuery {
        operation: forecast.report.operation.as_deref().unwrap_or(&tool),
        tool: &tool,
        args: &args,
        agent: &context.agent,
        channel: &context.channel,
        workspace: &context.workspace,
        now_ms: SystemClock.now_ms(),
    };
    let rules = toolcrib.rules();
    let judged = match &spec {
        Some(spec) => rules.evaluate_tool(&asked, spec),
        None => rules.evaluate(&asked),
    };
    let ruling = forecast.report.ruling;
    let (verdict, by, reason) = match ruling {
        Some(ruling) => (Some(ruling.verdict), Some(json!(ruling.by)), ruling.reason.into_owned()),
        None => (judged.verdict, judged.verdict.map(|_| json!("rule")), judged.reason),
    };
    Ok(Explained {
        verdict: verdict.map(Effect::from),
        by,
        reason,
        rule: judged.rule.map(|rule| json!(rule)),
        segments: json!(judged.segments),
        asking: forecast.asking.map(|asking| asking.as_str().to_owned()),
        refused: forecast.refused.map(|error| json!(error)),
    })
}
