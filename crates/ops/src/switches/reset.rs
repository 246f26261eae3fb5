//! Resets a switch to its default.

use serde::{Deserialize, Serialize};
use toolcrib_app::SwitchTarget;
use toolcrib_core::{Clock as _, SystemClock};

use super::row::{SwitchRow, current_row};
use super::target::canonical_target;
use crate::context::OpContext;
use crate::error::OpError;

/// The switch to reset.
#[derive(Debug, Clone)]
pub struct ResetSwitchRequest {
    /// The tool, group, source, tier or feature.
    pub target: SwitchTarget,
}

/// The switch after its reset.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResetSwitchReply {
    /// The switch.
    pub switch: SwitchRow,
    /// Whether the switch had a setting.
    pub changed: bool,
}

/// Removes the setting of a switch, so that its default applies again.
///
/// # Errors
/// The errors of [`canonical_target`], except for settings of objects that no longer exist;
/// [`OpError::Store`].
pub async fn reset(
    ctx: &OpContext<'_>,
    request: ResetSwitchRequest,
) -> Result<ResetSwitchReply, OpError> {
    let (switches, owner) = (&ctx.store.stores.switches, ctx.store.owner);
    let set = switches.switches(owner).await?;
    let name = request.target.name();
    // A setting outlives its tool or source, and must then be removable.
    let is_set = set.iter().any(|switch| switch.name == name);
    let target = match request.target {
        target if is_set && target != SwitchTarget::Everything => target,
        target => canonical_target(ctx, target)?,
    };
    let now = SystemClock.now_ms();
    let stored = switches.unset_switch(owner, &target.name(), ctx.store.actor, now).await;
    let refreshed = ctx.toolcrib.refresh_switches().await;
    let changed = stored?;
    refreshed?;
    Ok(ResetSwitchReply { switch: current_row(ctx, &target).await?, changed })
}
