//! A switch in the replies of these operations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::SwitchTarget;
use toolcrib_core::{Switch, SwitchState, Tier, ToolInfo};

use crate::context::OpContext;
use crate::error::OpError;

/// A switch.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SwitchRow {
    /// Its name: `tool:NAME`, `group:NAME`, `source:ID`, `tier:TIER`, `feature:NAME` or
    /// `skill:NAME`.
    pub name: String,
    /// Its stored state; absent = the default applies.
    pub state: Option<SwitchState>,
    /// The person or token that set it.
    pub by: Option<String>,
    /// When it was set, in milliseconds since 1970.
    pub at: Option<i64>,
    /// Number of tools that it currently controls; 0 = its subject does not exist at present.
    pub tools: usize,
    /// Number of these tools that are enabled, taking into account the switches above them.
    pub on: usize,
}

/// Returns the number of tools below each switch, and the number of enabled ones.
pub(super) fn switchable(infos: &[ToolInfo]) -> BTreeMap<String, (usize, usize)> {
    let mut all: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for info in infos {
        let own = info.controlled_by.is_none().then(|| SwitchTarget::Tool(info.id.to_string()));
        let switches = own
            .into_iter()
            .chain(info.group.clone().map(SwitchTarget::Group))
            .chain(info.controlled_by.clone().map(SwitchTarget::Feature))
            .chain([SwitchTarget::Source(info.source.clone()), SwitchTarget::Tier(info.tier)]);
        for switched in switches {
            let (tools, on) = all.entry(switched.name()).or_default();
            *tools += 1;
            *on += usize::from(info.enabled);
        }
    }
    for tier in Tier::ALL {
        all.entry(SwitchTarget::Tier(tier).name()).or_default();
    }
    all
}

impl SwitchRow {
    pub(super) fn new(name: &str, (tools, on): (usize, usize), set: Option<&Switch>) -> Self {
        Self {
            name: name.to_owned(),
            state: set.map(|switch| switch.state),
            by: set.map(|switch| switch.by.clone()),
            at: set.map(|switch| switch.at),
            tools,
            on,
        }
    }
}

/// Returns the switch in its current state.
pub(super) async fn current_row(
    ctx: &OpContext<'_>,
    target: &SwitchTarget,
) -> Result<SwitchRow, OpError> {
    let name = target.name();
    let set = ctx.store.stores.switches.switches(ctx.store.owner).await?;
    let tools = switchable(&ctx.toolcrib.infos()).get(&name).copied().unwrap_or_default();
    Ok(SwitchRow::new(&name, tools, set.iter().find(|switch| switch.name == name)))
}
