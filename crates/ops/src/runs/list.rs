//! Lists runs, newest first.

use toolcrib_core::{RunId, RunStatus};

use super::row::RunRow;
use crate::context::StoreContext;
use crate::error::OpError;

/// Filter of runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListRunsRequest<'a> {
    /// Only runs in this state.
    pub state: Option<RunStatus>,
    /// Only runs before the one with this creation time and this id, for the next page.
    pub before: Option<(i64, RunId)>,
    /// Maximum number of runs.
    pub limit: usize,
    /// Only runs that this principal started have their topic; `None` = all have it.
    pub topics_of: Option<&'a str>,
}

/// Runs, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsReply {
    /// The runs.
    pub runs: Vec<RunRow>,
    /// Creation time and id of the last run of this page; `None` if there are no older ones.
    pub next: Option<(i64, RunId)>,
}

/// Lists runs.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(
    ctx: &StoreContext<'_>,
    request: ListRunsRequest<'_>,
) -> Result<RunsReply, OpError> {
    let (store, owner, limit) = (&ctx.stores.runs, ctx.owner, request.limit);
    let status = request.state;
    // Read one row more than the page, to detect a next page.
    let mut found = match request.before {
        None => store.runs(owner, status, limit + 1).await?,
        Some(before) => store.runs_before(owner, status, before, limit + 1).await?,
    };
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|last| (last.created_at, last.id));
    let has_topic = |by: &str| ctx.shows_payloads && request.topics_of.is_none_or(|of| of == by);
    let runs = found.iter().map(|run| RunRow::new(run, has_topic(&run.context.device))).collect();
    Ok(RunsReply { runs, next })
}
