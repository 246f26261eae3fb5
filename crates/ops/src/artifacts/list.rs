//! Lists artifacts (stored results).

use toolcrib_core::ArtifactMeta;

use super::blocking::run_blocking;
use crate::context::StoreContext;
use crate::error::OpError;

/// The number of requested results.
#[derive(Debug, Clone, Copy)]
pub struct ListArtifactsRequest {
    /// Maximum number of results.
    pub limit: usize,
}

/// Lists stored results, newest first.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(
    ctx: &StoreContext<'_>,
    request: ListArtifactsRequest,
) -> Result<Vec<ArtifactMeta>, OpError> {
    let owner = ctx.owner.to_owned();
    let mut all = run_blocking(ctx, move |store| store.list(&owner, request.limit)).await?;
    if !ctx.shows_payloads {
        all.iter_mut().for_each(hide_source);
    }
    Ok(all)
}

/// Removes the source: it is a path or an address, which was an argument of the call.
pub(super) fn hide_source(meta: &mut ArtifactMeta) {
    meta.source = None;
}
