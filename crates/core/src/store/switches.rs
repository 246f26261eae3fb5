//! Switches that outlive a process: which tools, sources, tiers and features are on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::BoxFuture;

/// What a switch says of what it switches, strictest first: of two words about one thing the smaller one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwitchState {
    /// It is not there: calls of it end without running.
    Off,
    /// It is there, and a person is asked about every call, as `[tools.NAME] ask = true` has it. Only tools and groups have this state.
    Ask,
    /// It is there.
    On,
}

impl SwitchState {
    /// All of them, strictest first.
    pub const ALL: [Self; 3] = [Self::Off, Self::Ask, Self::On];

    /// Its word in files, in stores and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Ask => "ask",
            Self::On => "on",
        }
    }

    /// Whether what it switches is there at all.
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
            .ok_or_else(|| format!("\"{text}\" is no state of a switch; use off, ask or on"))
    }
}

/// One switch as somebody last set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// Whose it is.
    pub owner: String,
    /// What it switches: `tools` (everything), `tool:NAME`, `group:NAME`, `source:ID`, `tier:TIER` or
    /// `feature:NAME`.
    pub name: String,
    /// What it says.
    pub state: SwitchState,
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
