//! Feature switches: stored settings for tools, groups, sources, tiers and features.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::BoxFuture;

/// State of a switch, strictest first: of two states for the same thing the smaller one applies.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SwitchMode", description = "State of a switch.")]
pub enum SwitchState {
    /// Disabled: calls end without running.
    Off,
    /// Enabled, but a person must approve every call, like `[tools.NAME] ask = true`. Only tools
    /// and groups have this state.
    Ask,
    /// Enabled.
    On,
}

impl SwitchState {
    /// All states, strictest first.
    pub const ALL: [Self; 3] = [Self::Off, Self::Ask, Self::On];

    /// Returns the name in files, in stores and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Ask => "ask",
            Self::On => "on",
        }
    }

    /// Returns whether the switched item is available at all.
    #[must_use]
    pub fn is_on(self) -> bool {
        self != Self::Off
    }
}

impl From<bool> for SwitchState {
    fn from(enabled: bool) -> Self {
        if enabled { Self::On } else { Self::Off }
    }
}

impl fmt::Display for SwitchState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SwitchState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| format!("\"{text}\" is not a switch state; use off, ask or on"))
    }
}

/// A switch with its current state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// Owner.
    pub owner: String,
    /// Controlled item: `tools` (everything), `tool:NAME`, `group:NAME`, `source:ID`, `tier:TIER`,
    /// `feature:NAME` or `skill:NAME`.
    pub name: String,
    /// State.
    pub state: SwitchState,
    /// Name of the person who set it.
    pub by: String,
    /// Unix time in milliseconds.
    pub at: i64,
}

/// Stores switches.
pub trait SwitchStore: Send + Sync {
    /// Sets a switch and replaces an earlier setting. The write survives a power failure.
    fn set_switch(&self, switch: Switch) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Removes a setting, so that the tool's default applies again; `false` if there was none.
    fn unset_switch<'a>(
        &'a self,
        owner: &'a str,
        name: &'a str,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Returns all switches of an owner, sorted by name.
    fn switches<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Switch>, StoreError>>;
}
