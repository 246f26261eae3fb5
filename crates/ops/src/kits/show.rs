//! Shows a kit.

use super::kit::KitReply;
use crate::error::{OpError, Resource};
use crate::library::LibraryContext;

/// The kit to show.
#[derive(Debug, Clone)]
pub struct ShowKitRequest {
    /// Its name.
    pub name: String,
}

/// Shows a kit.
///
/// # Errors
/// [`OpError::NotFound`].
pub fn show(ctx: &LibraryContext<'_>, request: &ShowKitRequest) -> Result<KitReply, OpError> {
    let kit = ctx.library.kits.iter().find(|kit| kit.name == request.name);
    kit.map(KitReply::from).ok_or_else(|| OpError::not_found(Resource::Kit, &request.name))
}
