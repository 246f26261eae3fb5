//! The history of calls.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{CallFilter, CallId, CallRow, CallStatus, OutcomeKind, RunId};
use toolcrib_ops::calls::{self, CallState, CallSummary};

use crate::api::{Json, Page, PageQuery, Query, cursor, parse_cursor};
use crate::problem::Problem;
use crate::role::Principal;
use crate::state::DaemonState;

/// Filters of calls. A call must match all of them.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CallQuery {
    /// Name of the tool, canonical or an alias.
    tool: Option<String>,
    /// The operation that policy evaluates, such as `http_request.get`.
    operation: Option<String>,
    /// Agent that called.
    agent: Option<String>,
    /// Conversation.
    conversation: Option<String>,
    /// Run.
    run: Option<String>,
    /// The call that made them: for a script, its child calls.
    parent: Option<String>,
    /// Their status: `running`, or their outcome, such as `failed`. `GET /approvals` lists the
    /// calls that wait for a person.
    status: Option<CallState>,
    /// Only calls received at or after this time, in milliseconds since 1970.
    since: Option<i64>,
    /// Only calls received before this time, in milliseconds since 1970.
    until: Option<i64>,
    /// The maximum number of rows, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The `next` of the previous page.
    cursor: Option<String>,
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
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<CallQuery>,
) -> Result<Json<Page<CallSummary>>, Problem> {
    let limit = PageQuery::page_size(query.limit)?;
    let run = query.run.as_deref().map(str::parse::<RunId>).transpose();
    let run = run.map_err(|error| Problem::invalid(error.to_string()))?;
    let parent = query.parent.as_deref().map(str::parse::<CallId>).transpose();
    let parent = parent.map_err(|error| Problem::invalid(error.to_string()))?;
    let canonical = |name| calls::canonical_tool(daemon.toolcrib(), name);
    let filter = CallFilter {
        tool: query.tool.map(canonical),
        operation: query.operation,
        agent: query.agent,
        conversation: query.conversation,
        run,
        parent,
        status: query.status.map(status).transpose()?,
        since: query.since,
        until: query.until,
        before: parse_cursor::<CallId>("calls", query.cursor.as_deref())?,
        limit,
        ..CallFilter::default()
    };
    let reply = calls::history(&daemon.store_context(&principal), filter).await?;
    let last = reply.calls.last().filter(|_| reply.more);
    let next = last.map(|last| cursor("calls", &last.facts.call));
    let tools = daemon.allowed_tools(&principal);
    let visible = reply.calls.iter().filter(|row| {
        let tool = row.facts.tool.as_ref().map_or("", |tool| tool.as_str());
        row.facts.context.device == principal.name || tools.includes(tool)
    });
    let undone_at = |row: &CallRow| reply.undone.get(&row.facts.call).copied();
    let items = visible.map(|row| CallSummary::new(row, undone_at(row))).collect();
    Ok(Json(Page { items, next }))
}
