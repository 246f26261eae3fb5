//! Lists all switches.

use toolcrib_app::SwitchTarget;

use super::row::{SwitchRow, switchable};
use crate::context::OpContext;
use crate::error::OpError;

/// All switches.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListSwitchesRequest;

/// Lists all switches by name, except the switch of all tools, which is part of the kill switch.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(
    ctx: &OpContext<'_>,
    _request: ListSwitchesRequest,
) -> Result<Vec<SwitchRow>, OpError> {
    let mut all = switchable(&ctx.toolcrib.infos());
    let set = ctx.store.stores.switches.switches(ctx.store.owner).await?;
    for switch in set.iter().filter(|switch| switch.name != SwitchTarget::Everything.name()) {
        all.entry(switch.name.clone()).or_default();
    }
    let row = |(name, tools): (&String, &(usize, usize))| {
        SwitchRow::new(name, *tools, set.iter().find(|switch| &switch.name == name))
    };
    Ok(all.iter().map(row).collect())
}
