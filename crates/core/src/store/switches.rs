//! Switches that outlive a process: which tools, sources, tiers and features are on.

use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::BoxFuture;

/// One switch as somebody last set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// Whose it is.
    pub owner: String,
    /// What it switches: `tools` (everything), `tool:NAME`, `source:ID`, `tier:TIER` or `feature:NAME`.
    pub name: String,
    /// On or off.
    pub enabled: bool,
    /// Who set it.
    pub by: String,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// Switches.
pub trait SwitchStore: Send + Sync {
    /// Sets a switch, through a power cut too; an earlier setting of this name is replaced.
    fn set_switch(&self, switch: Switch) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Takes a setting back, so that the tool's own default holds again; `false` = there is none.
    fn unset_switch<'a>(
        &'a self,
        owner: &'a str,
        name: &'a str,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// All of an owner, by name.
    fn switches<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Switch>, StoreError>>;
}
