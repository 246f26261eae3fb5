//! Lists the runs that can be resumed, with what each waits for.

use serde::Serialize;
use toolcrib_agent::machine::Pending;
use toolcrib_core::{RunStatus, StoredRun};

use super::row::RunRow;
use super::stored_state::pending_questions;
use super::worker::has_live_worker;
use crate::context::StoreContext;
use crate::error::OpError;

/// Maximum number of runs that are read of each state.
const LIMIT: usize = 100;

/// A run that can be resumed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingRun {
    /// The run.
    #[serde(flatten)]
    pub row: RunRow,
    /// The approvals and questions that it waits for; empty if its process has ended.
    pub waiting: Vec<Pending>,
    /// The stored run.
    #[serde(skip)]
    pub stored: StoredRun,
}

/// Lists the runs that wait for a person, and then those whose process ended before they did.
///
/// # Errors
/// [`OpError::Store`].
pub async fn waiting(ctx: &StoreContext<'_>) -> Result<Vec<WaitingRun>, OpError> {
    let store = &ctx.stores.runs;
    let mut found = store.runs(ctx.owner, Some(RunStatus::Paused), LIMIT).await?;
    for run in store.runs(ctx.owner, Some(RunStatus::Running), LIMIT).await? {
        if !has_live_worker(ctx.stores, &run).await? {
            found.push(run);
        }
    }
    let row = |stored: StoredRun| {
        let row = RunRow::new(&stored, ctx.shows_payloads);
        WaitingRun { row, waiting: pending_questions(&stored), stored }
    };
    Ok(found.into_iter().map(row).collect())
}

/// Returns the approvals and questions of a run that are not decided. One that is not stored yet
/// counts as open, because only the run itself can ask it.
///
/// # Errors
/// [`OpError::Store`].
pub async fn open_questions(
    ctx: &StoreContext<'_>,
    run: &StoredRun,
) -> Result<Vec<Pending>, OpError> {
    let mut open = Vec::new();
    for question in pending_questions(run) {
        let stored = match question.approval() {
            Some(id) => ctx.stores.approvals.get(id).await?,
            None => None,
        };
        if !matches!(stored, Some((_, Some(_)))) {
            open.push(question);
        }
    }
    Ok(open)
}

/// Refuses to resume a paused run of which no question is decided: it would only wait again.
///
/// # Errors
/// [`OpError::Conflict`] with the open `approvals`; [`OpError::Store`].
pub async fn require_decision(ctx: &StoreContext<'_>, run: &StoredRun) -> Result<(), OpError> {
    let asked = |questions: &[Pending]| questions.iter().filter_map(Pending::approval).count();
    let open = open_questions(ctx, run).await?;
    let all = asked(&pending_questions(run));
    if all == 0 || asked(&open) < all {
        return Ok(());
    }
    let words = format!("the run {} waits for a person; decide about what it asks first", run.id);
    let open: Vec<_> = open.iter().filter_map(Pending::approval).collect();
    Err(OpError::Conflict(words).with_facts(serde_json::json!({ "approvals": open })))
}
