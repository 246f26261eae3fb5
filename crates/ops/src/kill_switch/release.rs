//! Releases the kill switch.

use toolcrib_app::SwitchTarget;
use toolcrib_core::{Clock as _, Switch, SwitchState, SystemClock};

use super::context::{KillSwitchContext, OWNER};
use super::engage::refresh;
use super::show::{KillSwitchStatus, status};
use crate::error::OpError;

/// The row after the release.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReleaseRequest {
    /// Whether the row stays, with the state "on"; otherwise, it is removed.
    pub keep_row: bool,
}

/// The state after the release.
#[derive(Debug, Clone)]
pub struct ReleaseReply {
    /// The current state.
    pub switch: KillSwitchStatus,
    /// Whether the file or the row existed.
    pub changed: bool,
}

/// Removes the row and the file. The store is first, so that the switch is not released partly if
/// the store cannot be written.
///
/// # Errors
/// [`OpError::Store`], or [`OpError::Unavailable`] if the file cannot be removed; tools then stay
/// stopped.
pub async fn release(
    ctx: &KillSwitchContext<'_>,
    request: ReleaseRequest,
) -> Result<ReleaseReply, OpError> {
    let store = (ctx.open_store)()?;
    let (name, at) = (SwitchTarget::Everything.name(), SystemClock.now_ms());
    let had_row = if request.keep_row {
        let (owner, by) = (OWNER.to_owned(), ctx.actor.to_owned());
        let switch = Switch { owner, name, state: SwitchState::On, by, at };
        store.set_switch(switch).await.map(|()| true)?
    } else {
        store.unset_switch(OWNER, &name, ctx.actor, at).await?
    };
    let had_file = ctx.file.release().map_err(|error| {
        let path = ctx.file.path.display();
        OpError::Unavailable(format!("tools stay off: {path} cannot be removed ({error})"))
    })?;
    refresh(ctx.process).await?;
    Ok(ReleaseReply { switch: status(ctx, &*store).await?, changed: had_row || had_file })
}
