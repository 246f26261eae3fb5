//! How far the text of a result can be trusted: where it comes from.

use serde::{Deserialize, Serialize};

/// Where the text of a result comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The tool wrote the text itself.
    Tool,
    /// Text from the user's workspace.
    Workspace,
    /// Text from outside, whose author is unknown.
    External,
}
