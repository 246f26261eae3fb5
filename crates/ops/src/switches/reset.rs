//! Takes the setting of a switch back.

use serde::{Deserialize, Serialize};
use toolcrib_app::SwitchTarget;
use toolcrib_core::{Clock as _, SystemClock};

use super::row::{SwitchRow, current_row};
use super::target::canonical_target;
use crate::context::OpContext;
use crate::error::OpError;

/// Which switch.
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
    /// Whether there was a setting.
    pub changed: bool,
}

/// Takes the setting of a switch back, so that its default holds again.
///
/// # Errors
/// As [`canonical_target`], except for settings of things that do not exist any more;
/// [`OpError::Store`].
pub async fn reset(
    ctx: &OpContext<'_>,
    request: ResetSwitchRequest,
) -> Result<ResetSwitchReply, OpError> {
    let (switches, owner) = (&ctx.store.stores.switches, ctx.store.owner);
    let set = switches.switches(owner).await?;
    let name = request.target.name();
    // A setting outlives the tool or source that it is for, and must be removable then.
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
