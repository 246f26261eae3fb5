//! The inbox: calls that wait for a person, and questions of models. Shown, and decided once.

mod decide;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::core::display_text::escape_to_line;
use toolcrib_app::core::store::ApprovalWithDecision;
use toolcrib_app::core::{
    ApprovalId, ApprovalRequest, Clock as _, DecisionRecord, SystemClock, canonical_json,
    effective_channel,
};
use toolcrib_ops::approvals::{self, DecisionReply, HastyApprovals};

use crate::api::{
    Api, Json, Operation, Page, PageQuery, Path, Query, cursor, etag_response, parse_cursor,
};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

pub(super) use decide::DecideBody;

/// The list, as its cursors name it.
const LIST: &str = "approvals";
/// Earlier decisions that are shown, and questions that are looked at for them.
const MAX_EARLIER: usize = 5;
const MAX_SCANNED: usize = 200;

/// A question with what became of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(super) struct Approval {
    /// Its id.
    approval: String,
    /// `pending`, `decided` or `expired`.
    state: String,
    /// Hash of everything that is shown: a decision names it, so that it applies to exactly what
    /// its approver saw.
    nonce: String,
    /// The call in question.
    call: String,
    /// The run that it belongs to.
    run: Option<String>,
    /// The agent that asks.
    agent: String,
    /// The conversation.
    conversation: String,
    /// What that is about.
    topic: String,
    /// The workspace.
    workspace: String,
    /// Who asks: `model`, `rest`, `mcp`, …
    origin: String,
    /// The channel.
    channel: String,
    /// Who asked for the call, where it came over this API.
    by: String,
    /// The tool.
    tool: String,
    /// The operation that policy names.
    operation: String,
    /// `safe`, `high` or `critical`.
    risk: String,
    /// What it may change.
    effect: String,
    /// How far it reaches.
    reach: Value,
    /// Why a person is asked: by a rule, the risk, or what the run has read.
    reasons: Value,
    /// One line that says what will happen; empty for those who only look.
    summary: String,
    /// The arguments, secrets masked; `null` for those who only look.
    args: Value,
    /// The model's question with its options, when it asks one itself; answered with `answer` or
    /// `skip`.
    question: Option<Value>,
    /// Milliseconds since 1970.
    requested_at: i64,
    /// Milliseconds since 1970; `null` = it waits as long as it takes.
    expires_at: Option<i64>,
    /// What was decided (`decision` with `scope`, `note`, `args` or `text`), by whom (`decided_by`)
    /// and when (`decided_at`).
    decision: Option<Value>,
}

/// A question with what helps to decide.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalShown")]
struct ApprovalDetails {
    /// The question.
    #[serde(flatten)]
    approval: Approval,
    /// Hash of the tool's definition.
    definition_hash: String,
    /// What continues after the decision: `run`, `call`, `elsewhere` (another process waits) or
    /// `nobody` (its run is over).
    goes_on: String,
    /// What was decided about calls of this operation before, the newest first.
    earlier: Vec<EarlierDecision>,
}

/// An earlier decision.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct EarlierDecision {
    /// Its id.
    approval: String,
    /// The arguments.
    args: Value,
    /// The decision.
    decision: Option<Value>,
}

/// Which questions are listed.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ListApprovalsQuery {
    /// `pending` (the inbox, oldest first; the default) or `all` (the history, newest first).
    state: ApprovalFilter,
    /// Most rows, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// Which questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ApprovalFilter {
    /// Those that wait.
    #[default]
    Pending,
    /// All of them.
    All,
}

/// Operations that are approved faster than the question can be read.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct HastyDocument {
    /// One for each operation.
    operations: Vec<HastyApprovals>,
}

async fn hasty_approvals(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<HastyDocument>, Problem> {
    let operations = approvals::hasty_approvals(&daemon.store_context(&principal)).await?;
    Ok(Json(HastyDocument { operations }))
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get(
        "/approvals",
        Role::Viewer,
        "Lists what waits for a person, or was decided.",
    );
    api.add(
        list.query::<ListApprovalsQuery>().returns_ok::<Page<Approval>>("Questions.").etagged(),
        list_approvals,
    );
    let hasty = Operation::get(
        "/approvals/hasty",
        Role::Viewer,
        "Lists operations that are approved faster than the question can be read.",
    );
    api.add(
        hasty
            .description("Those with at least three approvals within 3 seconds of the question in the last 30 days: a remembered approval or a rule would ask less.")
            .returns_ok::<HastyDocument>("The operations, the most frequent first."),
        hasty_approvals,
    );
    let show = Operation::get(
        "/approvals/{approval}",
        Role::Viewer,
        "Shows a question with what helps to decide.",
    );
    api.add(show.returns_ok::<ApprovalDetails>("The question."), show_approval);
    let decide = Operation::post("/approvals/{approval}", Role::Approver, "Decides a question, once.")
        .description("The decision is stored before it is answered; then the daemon goes on with the run or the call itself. A second decision is a `conflict` with the first in `about`; one that comes too late is `gone`; one about something else than what is stored is a `conflict`.");
    api.add(
        decide.body::<DecideBody>().returns_ok::<DecisionReply>("It is decided."),
        decide::decide,
    );
}

/// The hash of everything that is shown of a question: it never changes while the question waits.
pub(super) fn nonce(request: &ApprovalRequest) -> String {
    canonical_json::sha256(&serde_json::to_value(request).unwrap_or_default())
}

fn approval_details(
    principal: &Principal,
    request: &ApprovalRequest,
    decided: Option<&DecisionRecord>,
) -> Approval {
    let sees = principal.sees_payloads();
    let state = match decided {
        Some(record) if record.is_expiry() => "expired",
        Some(_) => "decided",
        None if request.is_expired(SystemClock.now_ms()) => "expired",
        None => "pending",
    };
    let context = &request.context;
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    Approval {
        approval: request.id.to_string(),
        state: state.to_owned(),
        nonce: nonce(request),
        call: request.call.to_string(),
        run: request.run.map(|run| run.to_string()),
        agent: context.agent.clone(),
        conversation: context.conversation.clone(),
        topic: if sees { escape_to_line(&context.topic) } else { String::new() },
        workspace: context.workspace.clone(),
        origin: word(json!(request.origin)),
        channel: effective_channel(context, request.origin).to_owned(),
        by: context.device.clone(),
        tool: request.tool.to_string(),
        operation: request.operation.clone(),
        risk: word(json!(request.risk)),
        effect: word(json!(request.effect)),
        reach: json!(request.reach),
        reasons: reasons(request, sees),
        // A question that an earlier version stored is not escaped yet.
        summary: if sees { escape_to_line(&request.summary) } else { String::new() },
        args: if sees { request.args.clone() } else { Value::Null },
        question: request.question.as_ref().filter(|_| sees).map(|question| json!(question)),
        requested_at: request.requested_at,
        expires_at: request.expires_at,
        decision: decided.map(|record| decision(principal, record)),
    }
}

/// Why a person is asked. The text may repeat arguments: a viewer sees the kinds only.
fn reasons(request: &ApprovalRequest, sees: bool) -> Value {
    let kinds = || request.reasons.iter().map(|reason| json!({"kind": reason.kind}));
    if sees { json!(request.reasons) } else { kinds().collect() }
}

/// What was decided; its words and arguments are not for those who only look.
pub(super) fn decision(principal: &Principal, record: &DecisionRecord) -> Value {
    const OPEN: [&str; 3] = ["decision", "scope", "taint"];
    let mut value = json!(record.decision);
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| principal.sees_payloads() || OPEN.contains(&name.as_str()));
        members.insert("decided_by".to_owned(), json!(record.decided_by));
        members.insert("decided_at".to_owned(), json!(record.decided_at));
    }
    value
}

async fn list_approvals(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Query(query): Query<ListApprovalsQuery>,
) -> Result<Response, Problem> {
    let rows = PageQuery::page_size(query.limit)?;
    let page = match query.state {
        ApprovalFilter::Pending => {
            pending(&daemon, &principal, query.cursor.as_deref(), rows).await?
        }
        ApprovalFilter::All => history(&daemon, &principal, query.cursor.as_deref(), rows).await?,
    };
    Ok(etag_response(&headers, &page))
}

async fn pending(
    daemon: &DaemonState,
    principal: &Principal,
    from: Option<&str>,
    rows: usize,
) -> Result<Page<Approval>, Problem> {
    let list = format!("{LIST} pending");
    let after = parse_cursor::<ApprovalId>(&list, from)?;
    let open = daemon.stores().approvals.pending().await?;
    let tools = daemon.allowed_tools(principal);
    // Ids are ordered by time.
    let mine = open
        .iter()
        .filter(|request| request.context.owner == principal.owner)
        .filter(|request| tools.includes(request.tool.as_str()))
        .filter(|request| after.is_none_or(|after| request.id > after));
    let found: Vec<&ApprovalRequest> = mine.take(rows + 1).collect();
    let next = found.get(rows.saturating_sub(1)).filter(|_| found.len() > rows);
    let next = next.map(|last| cursor(&list, &last.id));
    let items = found
        .into_iter()
        .take(rows)
        .map(|request| approval_details(principal, request, None))
        .collect();
    Ok(Page { items, next })
}

async fn history(
    daemon: &DaemonState,
    principal: &Principal,
    from: Option<&str>,
    rows: usize,
) -> Result<Page<Approval>, Problem> {
    let list = format!("{LIST} all");
    let (store, owner) = (&daemon.stores().approvals, &principal.owner);
    let found = match parse_cursor::<ApprovalId>(&list, from)? {
        None => store.list(owner, rows + 1).await?,
        Some(before) => store.list_before(owner, before, rows + 1).await?,
    };
    let next = found.get(rows.saturating_sub(1)).filter(|_| found.len() > rows);
    let next = next.map(|(waiting, _)| cursor(&list, &waiting.request.id));
    let tools = daemon.allowed_tools(principal);
    let items = found
        .iter()
        .take(rows)
        .filter(|(waiting, _)| tools.includes(waiting.request.tool.as_str()))
        .map(|(waiting, decided)| approval_details(principal, &waiting.request, decided.as_ref()))
        .collect();
    Ok(Page { items, next })
}

/// A question of this principal's owner, about one of its tools. That of another owner does not
/// exist.
async fn find_approval(
    daemon: &DaemonState,
    principal: &Principal,
    text: &str,
) -> Result<ApprovalWithDecision, Problem> {
    let none = || Problem::not_found(format!("there is no approval {text}"));
    let id: ApprovalId = text.parse().map_err(|_| none())?;
    let found = daemon.stores().approvals.get(id).await?;
    let mine = found.filter(|(waiting, _)| waiting.request.context.owner == principal.owner);
    let mine = mine.ok_or_else(none)?;
    daemon.allowed_tools(principal).require(mine.0.request.tool.as_str())?;
    Ok(mine)
}

async fn show_approval(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<ApprovalDetails>, Problem> {
    let (waiting, decided) = find_approval(&daemon, &principal, &id).await?;
    let request = &waiting.request;
    let questions = daemon.stores().approvals.list(&principal.owner, MAX_SCANNED).await?;
    let like = |(other, decided): &&ApprovalWithDecision| {
        let other = &other.request;
        decided.is_some()
            && other.id != request.id
            && other.operation == request.operation
            && other.question.is_some() == request.question.is_some()
    };
    let earlier =
        questions.iter().filter(like).take(MAX_EARLIER).map(|(other, decided)| EarlierDecision {
            approval: other.request.id.to_string(),
            args: if principal.sees_payloads() { other.request.args.clone() } else { Value::Null },
            decision: decided.as_ref().map(|record| decision(&principal, record)),
        });
    Ok(Json(ApprovalDetails {
        approval: approval_details(&principal, request, decided.as_ref()),
        definition_hash: request.definition_hash.clone(),
        goes_on: crate::run_supervisor::resume_target(daemon.run_supervisor(), &waiting)
            .await?
            .continued_by()
            .as_str()
            .to_owned(),
        earlier: earlier.collect(),
    }))
}
