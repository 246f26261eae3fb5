//! Sets a switch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::SwitchTarget;
use toolcrib_core::{Clock as _, Switch, SwitchState, SystemClock};

use super::row::{SwitchRow, current_row};
use super::target::canonical_target;
use crate::context::OpContext;
use crate::error::OpError;

/// The new state of a switch.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SetSwitch")]
#[serde(deny_unknown_fields)]
pub struct SetSwitchBody {
    /// `off`, `ask` or `on`.
    pub state: SwitchState,
}

/// The switch, and its new state.
#[derive(Debug, Clone)]
pub struct SetSwitchRequest {
    /// The tool, group, source, tier or feature.
    pub target: SwitchTarget,
    /// The new state. Only tools and groups can have [`SwitchState::Ask`].
    pub state: SwitchState,
}

/// Sets a switch. It applies to every call of this process from the next stage on.
///
/// # Errors
/// The errors of [`canonical_target`]; [`OpError::Refused`] for a state that the target cannot
/// have, [`OpError::Store`].
pub async fn set(ctx: &OpContext<'_>, request: SetSwitchRequest) -> Result<SwitchRow, OpError> {
    let target = canonical_target(ctx, request.target)?;
    // Ask the engine first: it refuses settings that must not be stored, such as one for a
    // permanently disabled tool.
    ctx.toolcrib.engine().set_switch(&target, Some(request.state)).map_err(OpError::Refused)?;
    let switch = Switch {
        owner: ctx.store.owner.to_owned(),
        name: target.name(),
        state: request.state,
        by: ctx.store.actor.to_owned(),
        at: SystemClock.now_ms(),
    };
    let stored = ctx.store.stores.switches.set_switch(switch).await;
    // Whether or not storing succeeded, the stored switches are the ones in force.
    let refreshed = ctx.toolcrib.refresh_switches().await;
    stored?;
    refreshed?;
    current_row(ctx, &target).await
}
