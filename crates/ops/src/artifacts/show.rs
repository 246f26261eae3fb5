//! Shows the metadata of an artifact.

use toolcrib_core::{ArtifactMeta, ArtifactRef};

use super::blocking::run_blocking;
use super::list::hide_source;
use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// The artifact to show.
#[derive(Debug, Clone)]
pub struct ShowArtifactRequest {
    /// Its complete name.
    pub artifact: ArtifactRef,
}

/// Shows the metadata of a stored result.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn show(
    ctx: &StoreContext<'_>,
    request: ShowArtifactRequest,
) -> Result<ArtifactMeta, OpError> {
    let (artifact, owner) = (request.artifact, ctx.owner.to_owned());
    let missing = OpError::not_found(Resource::Artifact, &artifact);
    // The name becomes part of a path, so an invalid name is not looked up.
    if !artifact.is_well_formed() {
        return Err(missing);
    }
    let meta = run_blocking(ctx, move |store| store.meta(&artifact, &owner)).await?;
    let mut meta = meta.ok_or(missing)?;
    if !ctx.shows_payloads {
        hide_source(&mut meta);
    }
    Ok(meta)
}
