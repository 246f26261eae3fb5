//! Drafts: listing, changing and sending messages in a person's name.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::drafts::{
    self, CreateDraftRequest, DiscardDraftRequest, DraftHistoryRequest, DraftReply,
    DraftVersionReply, EditDraftRequest, ListDraftsRequest, SendDraftRequest, ShowDraftRequest,
};

use crate::api::{Api, Json, Operation, Page, Path, Query, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// A new draft.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewDraftBody {
    /// `mail` or `webhook`.
    kind: String,
    /// The account that sends a mail; default the only one.
    #[serde(default)]
    account: Option<String>,
    /// Recipients: mail addresses, or the one web address of a webhook.
    to: Vec<String>,
    /// Subject of a mail.
    #[serde(default)]
    subject: String,
    /// Text; for a webhook, the posted body.
    body: String,
}

/// Query of a draft.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ShowDraftQuery {
    /// Version that the client has seen: `changed` lists the changes since.
    since: Option<i64>,
}

/// Changes of a draft.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditDraftBody {
    /// The version that was read.
    version: i64,
    /// Recipients; absent = unchanged.
    #[serde(default)]
    to: Option<Vec<String>>,
    /// Subject; absent = unchanged.
    #[serde(default)]
    subject: Option<String>,
    /// Text; absent = unchanged.
    #[serde(default)]
    body: Option<String>,
}

/// A draft to send.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendDraftBody {
    /// The version that the person read; a draft that was changed since is not sent.
    version: i64,
    /// Sends a draft again whose state is `unknown`, although it may have been sent.
    #[serde(default)]
    again: bool,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/drafts", Role::Viewer, "Lists drafts, newest first.");
    api.add(list.returns_ok::<Page<DraftReply>>("Your drafts.").etagged(), list_drafts);
    let create = Operation::post("/drafts", Role::Approver, "Makes a draft; nothing leaves.");
    let create = create.body::<NewDraftBody>();
    api.add(create.returns_ok::<DraftReply>("The draft."), create_draft);
    let history = Operation::get(
        "/drafts/{draft}/history",
        Role::Viewer,
        "Lists the versions of a draft, newest first.",
    );
    let versions = "The versions that are kept: 30 days, and 300 of all drafts.";
    api.add(history.returns_ok::<Page<DraftVersionReply>>(versions), draft_history);
    let show = Operation::get("/drafts/{draft}", Role::Viewer, "Shows a draft.");
    let show = show.query::<ShowDraftQuery>();
    api.add(show.returns_ok::<DraftReply>("The draft."), show_draft);
    let edit = Operation::put("/drafts/{draft}", Role::Approver, "Changes a draft.");
    let edit = edit.body::<EditDraftBody>();
    api.add(edit.returns_ok::<DraftReply>("The draft in its next version."), edit_draft);
    let send = Operation::post("/drafts/{draft}/send", Role::Approver, "Sends a draft.");
    let send = send.description("The response comes when the server has accepted or refused the draft; `status` tells which. If that cannot be known, `status` is `unknown`, and `note` says how to find out.");
    let send = send.body::<SendDraftBody>();
    api.add(send.returns_ok::<DraftReply>("The draft with its status."), send_draft);
    let discard = Operation::delete("/drafts/{draft}", Role::Approver, "Discards a draft.");
    api.add(discard.returns_ok::<DraftReply>("The draft cannot be sent any more."), discard_draft);
}

async fn list_drafts(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let request = ListDraftsRequest::default();
    let rows = drafts::list(&daemon.op_context(&principal, None), request).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

async fn show_draft(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(draft): Path<String>,
    Query(query): Query<ShowDraftQuery>,
) -> Result<Json<DraftReply>, Problem> {
    let request = ShowDraftRequest { draft, since: query.since };
    Ok(Json(drafts::show(&daemon.op_context(&principal, None), request).await?))
}

async fn create_draft(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(new): Json<NewDraftBody>,
) -> Result<Json<DraftReply>, Problem> {
    let NewDraftBody { kind, account, to, subject, body } = new;
    let request = CreateDraftRequest { kind, account, to, subject, body };
    Ok(Json(drafts::create(&daemon.op_context(&principal, None), request).await?))
}

async fn draft_history(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(draft): Path<String>,
) -> Result<Json<Page<DraftVersionReply>>, Problem> {
    let request = DraftHistoryRequest { draft };
    let rows = drafts::history(&daemon.op_context(&principal, None), request).await?;
    Ok(Json(Page::single_page(rows)))
}

async fn edit_draft(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(draft): Path<String>,
    Json(body): Json<EditDraftBody>,
) -> Result<Json<DraftReply>, Problem> {
    let EditDraftBody { version, to, subject, body } = body;
    let request = EditDraftRequest { draft, version: Some(version), to, subject, body };
    Ok(Json(drafts::edit(&daemon.op_context(&principal, None), request).await?))
}

async fn send_draft(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(draft): Path<String>,
    Json(body): Json<SendDraftBody>,
) -> Result<Json<DraftReply>, Problem> {
    let SendDraftBody { version, again } = body;
    let request = SendDraftRequest { draft, version, again };
    Ok(Json(drafts::send(&daemon.op_context(&principal, None), request).await?))
}

async fn discard_draft(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(draft): Path<String>,
) -> Result<Json<DraftReply>, Problem> {
    let request = DiscardDraftRequest { draft };
    Ok(Json(drafts::discard(&daemon.op_context(&principal, None), request).await?))
}
