//! Changes that tools made in the workspace: list, preview, undo, redo.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_core::RunId;
use toolcrib_ops::changes::{
    self, Change, Direction, FilesPreview, ListChangesRequest, PreviewRequest, RedoRequest,
    RedoneChanges, UndoRequest, UndoneChanges,
};

use crate::api::{Api, Json, Operation, Page, Query};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Which changes are listed.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ChangesQuery {
    /// Only changes of this run.
    #[schemars(with = "Option<String>")]
    run: Option<RunId>,
    /// Only changes of this conversation.
    conversation: Option<String>,
    /// Whether to list undone changes, which can be redone, the last undone first.
    undone: bool,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get(
        "/changes",
        Role::Caller,
        "Lists changes that tools made in the workspace, newest first.",
    );
    api.add(
        list.query::<ChangesQuery>().returns_ok::<Page<Change>>("The changes in the undo journal."),
        list_changes,
    );
    let preview = Operation::post(
        "/changes/preview",
        Role::Operator,
        "Shows what an undo or a redo would do to each file, with a diff.",
    );
    api.add(
        preview
            .body::<PreviewRequest>()
            .returns_ok::<FilesPreview>("The files; nothing was changed."),
        preview_changes,
    );
    let undo =
        Operation::post("/changes/undo", Role::Operator, "Undoes changes of tools, newest first.")
            .description("The undo stops at a change whose files were changed since; `conflict` names it, and `about` has the changes that were undone before it.")
            .body::<UndoRequest>();
    api.add(undo.returns_ok::<UndoneChanges>("All of them were undone."), undo_changes);
    let redo = Operation::post(
        "/changes/redo",
        Role::Operator,
        "Redoes undone changes, last undone first.",
    )
    .description("The redo stops at a change whose files were changed since; `conflict` names it, and `about` has the changes that were redone before it.")
    .body::<RedoRequest>();
    api.add(redo.returns_ok::<RedoneChanges>("All of them were redone."), redo_changes);
}

async fn list_changes(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<ChangesQuery>,
) -> Result<Json<Page<Change>>, Problem> {
    let direction = if query.undone { Direction::Redo } else { Direction::Undo };
    let request =
        ListChangesRequest { direction, run: query.run, conversation: query.conversation };
    let listed = changes::list(&daemon.op_context(&principal, None), request).await?;
    Ok(Json(Page::single_page(listed)))
}

async fn preview_changes(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<PreviewRequest>,
) -> Result<Json<FilesPreview>, Problem> {
    Ok(Json(changes::preview(&daemon.op_context(&principal, None), body).await?))
}

async fn undo_changes(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<UndoRequest>,
) -> Result<Json<UndoneChanges>, Problem> {
    let done = changes::undo(&daemon.op_context(&principal, None), body).await?;
    answer(done.refused.as_ref().map(|refused| refused.why.clone()), done)
}

async fn redo_changes(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<RedoRequest>,
) -> Result<Json<RedoneChanges>, Problem> {
    let done = changes::redo(&daemon.op_context(&principal, None), body).await?;
    answer(done.refused.as_ref().map(|refused| refused.why.clone()), done)
}

/// A change that blocks the others is a conflict, with the changes that were taken before it.
fn answer<T: Serialize>(refused: Option<String>, done: T) -> Result<Json<T>, Problem> {
    match refused {
        Some(why) => Err(Problem::conflict(why).with_extra(json!(done))),
        None => Ok(Json(done)),
    }
}
