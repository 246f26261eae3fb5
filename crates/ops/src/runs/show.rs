//! Shows a run.

use toolcrib_core::{RunId, StoredRun};

use super::snapshot::RunSnapshot;
use super::stored_snapshot::load_snapshot;
use crate::context::{OpContext, StoreContext};
use crate::error::{OpError, Resource};

/// Finds a stored run of the owner.
///
/// # Errors
/// [`OpError::NotFound`], also for a run of another owner; [`OpError::Store`].
pub async fn find(ctx: &StoreContext<'_>, id: RunId) -> Result<StoredRun, OpError> {
    let found = ctx.stores.runs.run(id).await?;
    let own = found.filter(|run| run.context.owner == ctx.owner);
    own.ok_or_else(|| OpError::not_found(Resource::Run, id))
}

/// Returns the state of a run, which no process drives, or which the caller knows only from the
/// store.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>, id: RunId) -> Result<RunSnapshot, OpError> {
    let run = find(&ctx.store, id).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    let snapshot = load_snapshot(ctx.store.stores, secrets, &run).await?;
    Ok(snapshot.for_caller(ctx.store.shows_payloads))
}
