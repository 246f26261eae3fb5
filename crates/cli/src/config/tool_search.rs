//! `[discovery]`: whether models have to search for tools, and the search.

use std::path::PathBuf;

use serde::Deserialize;
use toolcrib_agent::tool_selection::ToolSelectionMode;

/// `[discovery]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolSearchSection {
    /// `auto` (default), `all` or `search`.
    pub(crate) mode: Option<ToolSelectionMode>,
    /// Maximum share of a model's window for schemas, in percent.
    pub(crate) share: Option<Percent>,
    /// Folder of a larger model; default: the built-in one.
    pub(crate) model: Option<PathBuf>,
    /// An embedding model of a provider, `PROVIDER/MODEL`, that ranks the best tools; default:
    /// none.
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
