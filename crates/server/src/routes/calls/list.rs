//! The history of calls.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::core::{CallFilter, CallId, CallRow, CallStatus, OutcomeKind, RunId};

use super::document::CallState;
use crate::api::{Json, Page, PageQuery, Query, cursor, of_cursor};
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::role::Principal;

/// Which calls are wanted. Everything that is said must fit.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CallQuery {
    /// Name of the tool, canonical or an alias.
    tool: Option<String>,
    /// Operation that policy names, such as `http_request.get`.
    operation: Option<String>,
    /// Agent that called.
    agent: Option<String>,
    /// Conversation.
    conversation: Option<String>,
    /// Run.
    run: Option<String>,
    /// Where they stand: `running`, or how they ended, such as `failed`. Those that wait are listed by `GET /approvals`.
    status: Option<CallState>,
    /// Received at or after, milliseconds since 1970.
    since: Option<i64>,
    /// Received before, milliseconds since 1970.
    until: Option<i64>,
    /// Most rows, 1 to 500; 50 when nobody says.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// A call in a list. A token that only looks is not shown arguments and words.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CallSummary {
    /// Its id.
    pub(crate) call: String,
    /// Where it stands.
    pub(crate) status: CallState,
    /// Canonical name of the tool, when there is one.
    pub(crate) tool: Option<String>,
    /// The name as it was asked for, when it is another.
    pub(crate) asked: Option<String>,
    /// The operation that policy names.
    pub(crate) operation: Option<String>,
    /// Who asked: `model`, `chain`, `mcp`, `rest`, `cli`, `schedule` or `device`.
    pub(crate) origin: String,
    /// Agent that called.
    pub(crate) agent: Option<String>,
    /// Conversation.
    pub(crate) conversation: Option<String>,
    /// What the conversation is about.
    pub(crate) topic: Option<String>,
    /// Channel: `chat`, `external-agent` or `background`.
    pub(crate) channel: Option<String>,
    /// Workspace folder.
    pub(crate) workspace: Option<String>,
    /// Run.
    pub(crate) run: Option<String>,
    /// Milliseconds since 1970.
    pub(crate) received_at: i64,
    /// Milliseconds since 1970; absent = it never started.
    pub(crate) started_at: Option<i64>,
    /// Milliseconds since 1970.
    pub(crate) ended_at: Option<i64>,
    /// Milliseconds that the tool ran.
    pub(crate) duration_ms: Option<f64>,
    /// Attempts that were started.
    pub(crate) attempts: Option<u32>,
    /// Why it failed.
    pub(crate) error_type: Option<String>,
    /// The first words of what went wrong.
    pub(crate) message: Option<String>,
    /// `safe`, `high` or `critical`.
    pub(crate) risk: Option<String>,
    /// What a crash would mean, such as `side_effect`.
    pub(crate) effect: Option<String>,
    /// Arguments, secrets masked; absent too where they are long.
    pub(crate) args: Option<Value>,
    /// SHA-256 of the canonical arguments.
    pub(crate) args_hash: Option<String>,
    /// SHA-256 of the tool's definition.
    pub(crate) definition_hash: Option<String>,
    /// What policy said, in one line.
    pub(crate) policy: Option<String>,
    /// The question that was decided about it.
    pub(crate) approval: Option<String>,
    /// Who approved.
    pub(crate) approved_by: Option<String>,
}

impl CallSummary {
    pub(crate) fn of(row: &CallRow, payloads: bool) -> Self {
        let (facts, end) = (&row.facts, row.end.as_ref());
        let context = &facts.context;
        let args = facts.args.as_deref().filter(|_| payloads);
        Self {
            call: facts.call.to_string(),
            status: end.map_or(CallState::Running, |end| end.outcome.into()),
            tool: facts.tool.as_ref().map(ToString::to_string),
            asked: facts.asked.clone(),
            operation: facts.operation.clone(),
            origin: word(&facts.origin).unwrap_or_default(),
            agent: some(&context.agent),
            conversation: some(&context.conversation),
            topic: some(&context.topic).filter(|_| payloads),
            channel: some(&context.channel),
            workspace: some(&context.workspace),
            run: facts.run.map(|run| run.to_string()),
            received_at: facts.received_at,
            started_at: row.started_at,
            ended_at: end.map(|end| end.ended_at),
            duration_ms: end.filter(|end| end.attempts > 0).map(|end| end.run_nanos as f64 / 1e6),
            attempts: end.map(|end| end.attempts),
            error_type: end.and_then(|end| end.error_type).map(|why| why.as_str().to_owned()),
            message: end.and_then(|end| end.message.clone()).filter(|_| payloads),
            risk: facts.risk.and_then(|risk| word(&risk)),
            effect: facts.effect.and_then(|effect| word(&effect)),
            args: args.and_then(|args| serde_json::from_str(args).ok()),
            args_hash: facts.args_hash.clone().filter(|_| payloads),
            definition_hash: facts.definition_hash.clone(),
            policy: facts.policy.clone().filter(|_| payloads),
            approval: facts.approval.map(|id| id.to_string()),
            approved_by: facts.approved_by.clone(),
        }
    }
}

/// The wire name of something that is one word.
pub(crate) fn word(value: &impl Serialize) -> Option<String> {
    json!(value).as_str().map(str::to_owned)
}

/// Empty text means that there is none.
fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

fn status(state: CallState) -> Result<CallStatus, Problem> {
    Ok(CallStatus::Ended(match state {
        CallState::Running => return Ok(CallStatus::Open),
        CallState::Waiting => {
            return Err(Problem::invalid("calls that wait are listed by GET /approvals"));
        }
        CallState::Succeeded => OutcomeKind::Succeeded,
        CallState::Failed => OutcomeKind::Failed,
        CallState::TimedOut => OutcomeKind::TimedOut,
        CallState::Cancelled => OutcomeKind::Cancelled,
        CallState::Denied => OutcomeKind::Denied,
        CallState::Expired => OutcomeKind::Expired,
        CallState::Unknown => OutcomeKind::Unknown,
    }))
}

pub(super) async fn list(
    State(daemon): State<Daemon>,
    principal: Principal,
    Query(query): Query<CallQuery>,
) -> Result<Json<Page<CallSummary>>, Problem> {
    let limit = PageQuery::rows(query.limit)?;
    let run = query.run.as_deref().map(str::parse::<RunId>).transpose();
    let run = run.map_err(|error| Problem::invalid(error.to_string()))?;
    let canonical =
        |name: String| daemon.toolcrib().spec(&name).map_or(name, |spec| spec.name.to_string());
    let filter = CallFilter {
        owner: principal.owner.clone(),
        tool: query.tool.map(canonical),
        operation: query.operation,
        agent: query.agent,
        conversation: query.conversation,
        run,
        status: query.status.map(status).transpose()?,
        since: query.since,
        until: query.until,
        before: of_cursor::<CallId>("calls", query.cursor.as_deref())?,
        limit: limit + 1,
    };
    let mut rows = daemon.stores().history.calls(filter).await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|last| cursor("calls", &last.facts.call));
    let payloads = principal.sees_payloads();
    let items = rows.iter().map(|row| CallSummary::of(row, payloads)).collect();
    Ok(Json(Page { items, next }))
}
