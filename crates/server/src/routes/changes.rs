//! What tools changed in the workspace, and taking it back.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_app::Toolcrib;
use toolcrib_app::core::display_text::escape_to_line;
use toolcrib_app::workspace::{JournalEntry, JournalError, UndoReport};

use crate::api::{self, Api, Json, Operation, Page};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Changes that are taken back at once (docs/tools.md: the journal keeps 50).
const MAX_CHANGES: usize = 50;

/// A change that a tool made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct ChangeDocument {
    /// Its number; a later change has a larger one.
    id: u64,
    /// Milliseconds since 1970.
    at: i64,
    /// What was done, in one line, such as `edit notes.md`.
    summary: String,
    /// Why it cannot be taken back; absent = it can.
    not_undoable: Option<String>,
}

/// How much is taken back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoBody {
    /// Number of the newest change, as it was listed: if there is a newer one, nothing is taken
    /// back.
    #[schemars(range(min = 0))]
    newest: u64,
    /// How many changes, from the newest on, 1 to 50; default 1.
    #[schemars(range(min = 1, max = 50))]
    count: Option<usize>,
    /// Whether what was changed since is overwritten.
    #[serde(default)]
    force: bool,
}

/// What was taken back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct UndoneDocument {
    /// The changes, the newest first.
    undone: Vec<UndoneChange>,
    /// The change that stands in the way of the others, and why.
    refused: Option<RefusedChange>,
}

/// A change that was taken back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct UndoneChange {
    /// The change.
    change: ChangeDocument,
    /// What was done for that, one line each; empty when it had never been made.
    did: Vec<String>,
}

/// A change that was not taken back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct RefusedChange {
    /// The change.
    change: ChangeDocument,
    /// Why.
    why: String,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get(
        "/changes",
        Role::Caller,
        "Lists what tools changed in the workspace, the newest first.",
    );
    api.add(
        list.returns_ok::<Page<ChangeDocument>>("Those that the undo journal keeps."),
        list_changes,
    );
    let undo = Operation::post("/changes/undo", Role::Operator, "Takes changes of tools back, the newest first.")
        .description("It stops at a change that something was done to since; `conflict` says which, and `about` has what was taken back before it.")
        .body::<UndoBody>();
    api.add(undo.returns_ok::<UndoneDocument>("All of them were taken back."), undo_changes);
}

fn document(toolcrib: &Toolcrib, entry: JournalEntry) -> ChangeDocument {
    // Names of files may hold a secret or a control character too.
    let mask = |text: String| escape_to_line(&toolcrib.engine().sealing().secrets.mask(text));
    ChangeDocument {
        id: entry.id,
        at: entry.at_ms,
        summary: mask(entry.summary),
        not_undoable: entry.not_undoable.map(mask),
    }
}

/// What touches the journal, beside the tasks that answer: it waits for other processes.
async fn run_blocking<T: Send + 'static>(
    daemon: &DaemonState,
    work: impl FnOnce(&Toolcrib) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let toolcrib = daemon.toolcrib().clone();
    api::run_blocking(move || work(&toolcrib)).await
}

fn journal_problem(error: JournalError) -> Problem {
    match error {
        JournalError::Busy => {
            Problem::conflict("another change holds the workspace; try again").retry_after(1)
        }
        error => {
            tracing::error!(%error, "the undo journal cannot be used");
            Problem::new(
                Code::Unavailable,
                "the undo journal cannot be used; `toolcrib doctor` may know why",
            )
        }
    }
}

async fn list_changes(
    State(daemon): State<DaemonState>,
) -> Result<Json<Page<ChangeDocument>>, Problem> {
    let listed = run_blocking(&daemon, |toolcrib| {
        let changes = toolcrib.changes().map_err(journal_problem)?;
        Ok(changes.into_iter().map(|entry| document(toolcrib, entry)).collect())
    });
    Ok(Json(Page::single_page(listed.await?)))
}

async fn undo_changes(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<UndoBody>,
) -> Result<Json<UndoneDocument>, Problem> {
    let count = body.count.unwrap_or(1);
    if !(1..=MAX_CHANGES).contains(&count) {
        return Err(Problem::invalid(format!("count is from 1 to {MAX_CHANGES}")));
    }
    let done = run_blocking(&daemon, move |toolcrib| {
        let newest = toolcrib.changes().map_err(journal_problem)?.first().map(|entry| entry.id);
        if newest != Some(body.newest) {
            let words = "the newest change is another one; list them again";
            return Err(Problem::new(Code::Stale, words).with_extra(json!({"newest": newest})));
        }
        let report = toolcrib.undo(count, body.force).map_err(journal_problem)?;
        Ok(undone(toolcrib, report))
    });
    let done = done.await?;
    let all: Vec<&str> = done.undone.iter().map(|one| one.change.summary.as_str()).collect();
    if !all.is_empty() {
        daemon.admin_audit().record(&principal, "changes.undo", all.join("; ")).await?;
    }
    match &done.refused {
        Some(refused) => {
            let words = format!("{} was not taken back: {}", refused.change.summary, refused.why);
            Err(Problem::conflict(words).with_extra(json!(done)))
        }
        None => Ok(Json(done)),
    }
}

fn undone(toolcrib: &Toolcrib, report: UndoReport) -> UndoneDocument {
    let mask = |text: String| escape_to_line(&toolcrib.engine().sealing().secrets.mask(text));
    let undone = report.undone.into_iter().map(|one| UndoneChange {
        change: document(toolcrib, one.entry),
        did: one.did.into_iter().map(mask).collect(),
    });
    UndoneDocument {
        undone: undone.collect(),
        refused: report.refused.map(|(entry, why)| RefusedChange {
            change: document(toolcrib, entry),
            why: mask(why),
        }),
    }
}
