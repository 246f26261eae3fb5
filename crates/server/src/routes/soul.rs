//! The person's own part of the system prompt.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::soul::{
    self, ChangeSoulRequest, ShowSoulRequest, SoulChangeReply, SoulHistoryRequest, SoulReply,
};

use crate::api::{Api, Json, Operation, Page};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// The text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SoulText {
    /// The text, at most 4,000 characters.
    text: String,
}

pub(super) fn routes(api: &mut Api) {
    let show = Operation::get("/soul", Role::Caller, "Shows your part of the system prompt.");
    api.add(show.returns_ok::<SoulReply>("The text, if there is one."), show_soul);
    let set = Operation::put("/soul", Role::Operator, "Writes your part of the system prompt.");
    let set = set.description("The text is in the prompt of every run that starts from now on.");
    api.add(set.body::<SoulText>().returns_ok::<SoulReply>("The text."), set_soul);
    let clear = Operation::delete("/soul", Role::Operator, "Removes your part of the prompt.");
    api.add(clear.returns_ok::<SoulReply>("The prompt has no such part any more."), clear_soul);
    let history = Operation::get("/soul/history", Role::Caller, "Shows the changes of your part.");
    api.add(
        history.returns_ok::<Page<SoulChangeReply>>("The last changes, newest first."),
        soul_history,
    );
    let undo = Operation::post("/soul/undo", Role::Operator, "Undoes the last change.");
    api.add(undo.returns_ok::<SoulReply>("The text as it is now."), undo_soul);
}

async fn show_soul(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<SoulReply>, Problem> {
    Ok(Json(soul::show(&daemon.op_context(&principal, None), ShowSoulRequest).await?))
}

async fn set_soul(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<SoulText>,
) -> Result<Json<SoulReply>, Problem> {
    let request = ChangeSoulRequest::Set(body.text);
    Ok(Json(soul::change(&daemon.op_context(&principal, None), request).await?))
}

async fn clear_soul(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<SoulReply>, Problem> {
    let ctx = daemon.op_context(&principal, None);
    Ok(Json(soul::change(&ctx, ChangeSoulRequest::Clear).await?))
}

async fn soul_history(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<Page<SoulChangeReply>>, Problem> {
    let ctx = daemon.op_context(&principal, None);
    Ok(Json(Page::single_page(soul::history(&ctx, SoulHistoryRequest).await?)))
}

async fn undo_soul(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<SoulReply>, Problem> {
    let ctx = daemon.op_context(&principal, None);
    Ok(Json(soul::change(&ctx, ChangeSoulRequest::Undo).await?))
}
