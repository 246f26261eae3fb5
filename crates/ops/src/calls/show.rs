//! Shows one call with its result.

use toolcrib_core::CallId;

use super::document::CallDocument;
use super::lookup::CallLookup;
use crate::context::StoreContext;
use crate::error::OpError;

/// The call to show.
#[derive(Debug, Clone, Copy)]
pub struct ShowCallRequest {
    /// Its id.
    pub call: CallId,
}

/// Shows the state and the result of a call.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn show(
    ctx: &StoreContext<'_>,
    request: ShowCallRequest,
) -> Result<CallDocument, OpError> {
    let document = CallLookup::find(ctx, request.call).await?.document(request.call);
    Ok(if ctx.shows_payloads { document } else { document.without_payloads() })
}
