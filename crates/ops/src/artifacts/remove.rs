//! Removes an artifact.

use serde::{Deserialize, Serialize};
use toolcrib_core::ArtifactRef;

use super::blocking::run_blocking;
use super::show::{ShowArtifactRequest, show};
use crate::context::StoreContext;
use crate::error::OpError;

/// The artifact to remove.
#[derive(Debug, Clone)]
pub struct RemoveArtifactRequest {
    /// Its complete name.
    pub artifact: ArtifactRef,
}

/// The removed artifact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemovedArtifact {
    /// Its name.
    pub removed: ArtifactRef,
    /// Whether this request removed it; `false` if another one did so a moment before.
    pub changed: bool,
}

/// Removes a stored result, even if results still refer to it.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn remove(
    ctx: &StoreContext<'_>,
    request: RemoveArtifactRequest,
) -> Result<RemovedArtifact, OpError> {
    let removed = request.artifact.clone();
    show(ctx, ShowArtifactRequest { artifact: request.artifact.clone() }).await?;
    let owner = ctx.owner.to_owned();
    let changed = run_blocking(ctx, move |store| store.remove(&request.artifact, &owner)).await?;
    Ok(RemovedArtifact { removed, changed })
}
