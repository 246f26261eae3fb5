//! Trust level of a result's text, by its source.

use serde::{Deserialize, Serialize};

/// Source of a result's text.
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
