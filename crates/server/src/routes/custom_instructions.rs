//! The person's own part of the system prompt.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::custom_instructions::{
    self, ChangeInstructionsRequest, InstructionsChangeReply, InstructionsHistoryRequest,
    InstructionsReply, ShowInstructionsRequest,
};

use crate::api::{Api, Json, Operation, Page};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// The text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InstructionsBody {
    /// The text, at most 4,000 characters.
    text: String,
}

pub(super) fn routes(api: &mut Api) {
    let path = "/custom-instructions";
    let show = Operation::get(path, Role::Caller, "Shows your custom instructions.");
    let show = show.description("They are your own part of the system prompt of every run.");
    api.add(show.returns_ok::<InstructionsReply>("The text, if there is one."), show_instructions);
    let set = Operation::put(path, Role::Operator, "Writes your custom instructions.");
    let set = set.description("They are in the prompt of every run that starts from now on.");
    api.add(
        set.body::<InstructionsBody>().returns_ok::<InstructionsReply>("The text."),
        set_instructions,
    );
    let clear = Operation::delete(path, Role::Operator, "Removes your custom instructions.");
    api.add(
        clear.returns_ok::<InstructionsReply>("The prompt has no such part any more."),
        clear_instructions,
    );
    let history = Operation::get(
        "/custom-instructions/history",
        Role::Caller,
        "Shows the changes of your custom instructions.",
    );
    let rows = "The last changes, newest first.";
    api.add(history.returns_ok::<Page<InstructionsChangeReply>>(rows), instructions_history);
    let undo =
        Operation::post("/custom-instructions/undo", Role::Operator, "Undoes the last change.");
    api.add(undo.returns_ok::<InstructionsReply>("The text as it is now."), undo_instructions);
}

async fn show_instructions(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<InstructionsReply>, Problem> {
    Ok(Json(
        custom_instructions::show(&daemon.op_context(&principal, None), ShowInstructionsRequest)
            .await?,
    ))
}

async fn set_instructions(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<InstructionsBody>,
) -> Result<Json<InstructionsReply>, Problem> {
    let request = ChangeInstructionsRequest::Set(body.text);
    Ok(Json(custom_instructions::change(&daemon.op_context(&principal, None), request).await?))
}

async fn clear_instructions(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<InstructionsReply>, Problem> {
    let ctx = daemon.op_context(&principal, None);
    Ok(Json(custom_instructions::change(&ctx, ChangeInstructionsRequest::Clear).await?))
}

async fn instructions_history(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<Page<InstructionsChangeReply>>, Problem> {
    let ctx = daemon.op_context(&principal, None);
    Ok(Json(Page::single_page(
        custom_instructions::history(&ctx, InstructionsHistoryRequest).await?,
    )))
}

async fn undo_instructions(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<InstructionsReply>, Problem> {
    let ctx = daemon.op_context(&principal, None);
    Ok(Json(custom_instructions::change(&ctx, ChangeInstructionsRequest::Undo).await?))
}
