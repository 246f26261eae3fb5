//! Makes the heartbeat due now.

use super::show::{HeartbeatReply, reply};
use crate::context::OpContext;
use crate::error::OpError;

/// Makes the heartbeat due now, even outside of its hours. A daemon runs it.
///
/// # Errors
/// [`OpError::Conflict`] if it is disabled or already runs, [`OpError::Store`].
pub async fn run(ctx: &OpContext<'_>) -> Result<HeartbeatReply, OpError> {
    let row = ctx.toolcrib.heartbeats().run_now(ctx.store.owner).await?;
    Ok(reply(ctx, Some(row), None))
}
