//! Changes that tools made in the workspace: list, preview, undo, redo.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_core::RunId;
use toolcrib_ops::changes::{
    self, Change, Direction, FilePreview, ListChangesRequest, PreviewRequest, TakeReply,
    TakeRequest,
};

use crate::api::{Api, Json, Operation, Page, Query};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Maximum number of changes in one request (docs/tools.md: the journal keeps 50).
const MAX_CHANGES: usize = 50;

/// The changes to list.
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

/// The changes to undo: either `newest` and `count`, or `changes`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoBody {
    /// Number of the newest listed change: if there is a newer one, nothing is undone.
    #[schemars(range(min = 0))]
    newest: Option<u64>,
    /// Number of changes to undo, from the newest on, 1 to 50; default 1.
    #[schemars(range(min = 1, max = 50))]
    count: Option<usize>,
    /// Numbers of the listed changes, at most 50; they need not be the newest ones.
    #[schemars(length(min = 1, max = 50))]
    changes: Option<Vec<u64>>,
    /// Whether later changes are overwritten.
    #[serde(default)]
    force: bool,
}

/// The undone changes to redo.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RedoBody {
    /// Numbers of the changes, as `GET /changes?undone=true` lists them, at most 50.
    #[schemars(length(min = 1, max = 50))]
    changes: Vec<u64>,
    /// Whether later changes are overwritten.
    #[serde(default)]
    force: bool,
}

/// A preview.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PreviewBody {
    /// `undo` or `redo`.
    direction: Direction,
    /// Numbers of the listed changes, at most 50.
    #[schemars(length(min = 1, max = 50))]
    changes: Vec<u64>,
}

/// The files that an undo or a redo would change.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct PreviewDocument {
    /// One for each path.
    files: Vec<FilePreview>,
}

/// The undone changes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct UndoneDocument {
    /// The changes, the newest first.
    undone: Vec<changes::ChangeDone>,
    /// The change that blocks the others, and why.
    refused: Option<changes::ChangeRefused>,
}

/// The redone changes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct RedoneDocument {
    /// The changes with their new numbers, in the order in which they were made.
    redone: Vec<changes::ChangeDone>,
    /// The change that blocks the others, and why.
    refused: Option<changes::ChangeRefused>,
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
            .body::<PreviewBody>()
            .returns_ok::<PreviewDocument>("The files; nothing was changed."),
        preview_changes,
    );
    let undo =
        Operation::post("/changes/undo", Role::Operator, "Undoes changes of tools, newest first.")
            .description("The undo stops at a change whose files were changed since; `conflict` names it, and `about` has the changes that were undone before it.")
            .body::<UndoBody>();
    api.add(undo.returns_ok::<UndoneDocument>("All of them were undone."), undo_changes);
    let redo = Operation::post(
        "/changes/redo",
        Role::Operator,
        "Redoes undone changes, last undone first.",
    )
    .description("The redo stops at a change whose files were changed since; `conflict` names it, and `about` has the changes that were redone before it.")
    .body::<RedoBody>();
    api.add(redo.returns_ok::<RedoneDocument>("All of them were redone."), redo_changes);
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
    Json(body): Json<PreviewBody>,
) -> Result<Json<PreviewDocument>, Problem> {
    check_count("changes", body.changes.len())?;
    let request = PreviewRequest { direction: body.direction, ids: body.changes };
    let files = changes::preview(&daemon.op_context(&principal, None), request).await?;
    Ok(Json(PreviewDocument { files }))
}

async fn undo_changes(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<UndoBody>,
) -> Result<Json<UndoneDocument>, Problem> {
    let ids = match (body.changes, body.newest) {
        (Some(ids), None) if body.count.is_none() => ids,
        (None, Some(newest)) => {
            let count = body.count.unwrap_or(1);
            check_count("count", count)?;
            newest_changes(&daemon, &principal, newest, count).await?
        }
        _ => return Err(Problem::invalid("give either newest, with count, or changes")),
    };
    check_count("changes", ids.len())?;
    let request = TakeRequest { direction: Direction::Undo, ids, force: body.force };
    let TakeReply { done: undone, refused } =
        changes::take(&daemon.op_context(&principal, None), request).await?;
    let done = UndoneDocument { undone, refused };
    match &done.refused {
        Some(refused) => Err(Problem::conflict(&refused.why).with_extra(json!(done))),
        None => Ok(Json(done)),
    }
}

async fn redo_changes(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<RedoBody>,
) -> Result<Json<RedoneDocument>, Problem> {
    check_count("changes", body.changes.len())?;
    let request = TakeRequest { direction: Direction::Redo, ids: body.changes, force: body.force };
    let TakeReply { done: redone, refused } =
        changes::take(&daemon.op_context(&principal, None), request).await?;
    let done = RedoneDocument { redone, refused };
    match &done.refused {
        Some(refused) => Err(Problem::conflict(&refused.why).with_extra(json!(done))),
        None => Ok(Json(done)),
    }
}

/// Returns the numbers of the newest changes; `newest` is the newest one that the caller has seen.
async fn newest_changes(
    daemon: &DaemonState,
    principal: &Principal,
    newest: u64,
    count: usize,
) -> Result<Vec<u64>, Problem> {
    let all = ListChangesRequest::all(Direction::Undo);
    let listed = changes::list(&daemon.op_context(principal, None), all).await?;
    let now = listed.first().map(|change| change.id);
    if now != Some(newest) {
        let words = "the newest change is another one; list them again";
        return Err(Problem::new(Code::Stale, words).with_extra(json!({"newest": now})));
    }
    Ok(listed.into_iter().take(count).map(|change| change.id).collect())
}

fn check_count(field: &str, count: usize) -> Result<(), Problem> {
    if (1..=MAX_CHANGES).contains(&count) {
        return Ok(());
    }
    Err(Problem::invalid(format!("{field}: 1 to {MAX_CHANGES} changes at once")))
}
