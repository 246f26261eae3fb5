//! Lists stored results.

use toolcrib_core::ArtifactMeta;

use super::blocking::run_blocking;
use crate::context::StoreContext;
use crate::error::OpError;

/// How many.
#[derive(Debug, Clone, Copy)]
pub struct ListArtifactsRequest {
    /// At most this many.
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

/// The source is a path or an address, which was an argument of the call.
pub(super) fn hide_source(meta: &mut ArtifactMeta) {
    meta.source = None;
}
