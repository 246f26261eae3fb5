//! `[discovery]`: when models have to find their tools, and how they are found.

use std::path::PathBuf;

use serde::Deserialize;
use toolcrib_agent::tool_selection::ToolSelectionMode;

/// `[discovery]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolSearchSection {
    /// `auto` (default), `all` or `search`.
    pub(crate) mode: Option<ToolSelectionMode>,
    /// Part of a model's window in percent that schemas may take.
    pub(crate) share: Option<Percent>,
    /// Folder of a larger model; default: the one that is part of the binary.
    pub(crate) model: Option<PathBuf>,
    /// A model of embeddings of a provider, `PROVIDER/MODEL`, that puts the best tools in order;
    /// default: none.
    pub(crate) embeddings: Option<String>,
    /// Tools that models on this device are offered: names, `group:`, `server:` and globs.
    pub(crate) on_device_tools: Option<Vec<String>>,
}

/// 1 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u64")]
pub(crate) struct Percent(pub(super) u64);

impl TryFrom<u64> for Percent {
    type Error = &'static str;

    fn try_from(percent: u64) -> Result<Self, &'static str> {
        if (1..=100).contains(&percent) {
            Ok(Self(percent))
        } else {
            Err("a share goes from 1 to 100 percent")
        }
    }
}
