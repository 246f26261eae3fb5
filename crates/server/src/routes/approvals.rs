//! The inbox: calls and questions of models that wait for a person. Lists them, and accepts one
//! decision about each.

mod decide;
mod preview;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::ApprovalId;
use toolcrib_core::store::ApprovalWithDecision;
use toolcrib_ops::approvals::{
    self, Approval, ApprovalDetails, DecideBody, DecisionReply, HastyApprovals,
    ListApprovalsRequest, ShowApprovalRequest,
};
use toolcrib_ops::grants::GrantPreviewDocument;
use toolcrib_ops::{OpError, Resource};

use crate::api::{Api, Json, Operation, Page, PageQuery, Path, Query, etag_response, parse_cursor};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::run_supervisor;
use crate::state::DaemonState;

/// Name of the list in cursors.
const LIST: &str = "approvals";

/// The questions to list.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ListApprovalsQuery {
    /// `pending` (the inbox, oldest first; the default) or `all` (the history, newest first).
    state: ApprovalFilter,
    /// The maximum number of rows, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The `next` of the previous page.
    cursor: Option<String>,
}

/// The state of the questions to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ApprovalFilter {
    /// Open approvals and questions.
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
        "Lists approvals and questions: open ones, or all.",
    );
    api.add(
        list.query::<ListApprovalsQuery>().returns_ok::<Page<Approval>>("Questions.").etagged(),
        list_approvals,
    );
    let hasty = Operation::get(
        "/approvals/hasty",
        Role::Viewer,
        "Lists operations that people approve faster than they can read the question.",
    );
    api.add(
        hasty
            .description("Operations with at least three approvals within 3 seconds of the question in the last 30 days: a remembered approval or a rule would ask less often.")
            .returns_ok::<HastyDocument>("The operations, most frequent first."),
        hasty_approvals,
    );
    let show = Operation::get(
        "/approvals/{approval}",
        Role::Viewer,
        "Shows a question with everything that is needed to decide it.",
    );
    api.add(show.returns_ok::<ApprovalDetails>("The question."), show_approval);
    let preview = Operation::post(
        "/approvals/{approval}/preview",
        Role::Approver,
        "Shows what an approval that is remembered would match.",
    );
    let preview = preview.description(
        "Nothing is decided. It is compared with the newest 1,000 calls of the operation.",
    );
    api.add(
        preview
            .body::<preview::PreviewApprovalBody>()
            .returns_ok::<GrantPreviewDocument>("What it would match."),
        preview::preview,
    );
    let decide = Operation::post("/approvals/{approval}", Role::Approver, "Decides a question, once.")
        .description("The daemon stores the decision before it answers, then continues the run or the call itself. A second decision is a `conflict` with the first in `about`; one after the deadline is `gone`; one whose `binding` does not match the stored question is a `conflict`.");
    api.add(
        decide.body::<DecideBody>().returns_ok::<DecisionReply>("It is decided."),
        decide::decide,
    );
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
    let after = parse_cursor::<ApprovalId>(&list, from)?.map(|id| id.to_string());
    let ctx = daemon.store_context(principal);
    let open = approvals::list(&ctx, ListApprovalsRequest::Pending).await?;
    let tools = daemon.allowed_tools(principal);
    // Ids are ordered by time.
    let mine = open
        .into_iter()
        .map(|entry| entry.document)
        .filter(|one| tools.includes(&one.tool))
        .filter(|one| after.as_ref().is_none_or(|after| one.approval > *after));
    Ok(Page::from_rows(mine.take(rows + 1).collect(), rows, &list, |last| last.approval.clone()))
}

async fn history(
    daemon: &DaemonState,
    principal: &Principal,
    from: Option<&str>,
    rows: usize,
) -> Result<Page<Approval>, Problem> {
    let list = format!("{LIST} all");
    let before = parse_cursor::<ApprovalId>(&list, from)?;
    let ctx = daemon.store_context(principal);
    let request = ListApprovalsRequest::All { before, limit: rows + 1 };
    let found = approvals::list(&ctx, request).await?;
    let documents = found.into_iter().map(|entry| entry.document).collect();
    let mut page = Page::from_rows(documents, rows, &list, |last: &Approval| last.approval.clone());
    let tools = daemon.allowed_tools(principal);
    page.items.retain(|one| tools.includes(&one.tool));
    Ok(page)
}

/// Returns a question of this principal's owner about one of its tools. A question of another owner
/// is reported as not found.
async fn find_approval(
    daemon: &DaemonState,
    principal: &Principal,
    text: &str,
) -> Result<ApprovalWithDecision, Problem> {
    let id = parse_id(text)?;
    let found = approvals::find(&daemon.store_context(principal), id).await?;
    daemon.allowed_tools(principal).require(found.0.request.tool.as_str())?;
    Ok(found)
}

fn parse_id(text: &str) -> Result<ApprovalId, Problem> {
    text.parse().map_err(|_| OpError::not_found(Resource::Approval, text).into())
}

async fn show_approval(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<ApprovalDetails>, Problem> {
    let request = ShowApprovalRequest { id: parse_id(&id)? };
    let reply = approvals::show(&daemon.store_context(&principal), request).await?;
    daemon.allowed_tools(&principal).require(reply.waiting.request.tool.as_str())?;
    let target = run_supervisor::resume_target(daemon.run_supervisor(), &reply.waiting).await?;
    let tool = reply.waiting.request.tool.as_str();
    let sandbox = approvals::sandbox_level(daemon.toolcrib(), tool).await;
    Ok(Json(reply.into_details(target.continued_by(), sandbox)))
}
