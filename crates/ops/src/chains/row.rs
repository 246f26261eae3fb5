//! A script in replies.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::ChainEntry;

/// A script in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainRow {
    /// Its name, which is that of its tool.
    pub name: String,
    /// What it says that it does.
    pub description: Option<String>,
    /// Why it is no tool, if it is none.
    pub problem: Option<String>,
    /// The folder that has it: `own`, `workspace`, or one that was named.
    pub folder: String,
    /// Whether a person is asked before it runs, because its author is unknown.
    pub asked_about: bool,
    /// Its file.
    #[schemars(with = "String")]
    pub path: PathBuf,
}

/// A script, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainDetails {
    /// The script.
    #[serde(flatten)]
    pub chain: ChainRow,
    /// Its text.
    pub code: String,
}

impl From<&ChainEntry> for ChainRow {
    fn from(chain: &ChainEntry) -> Self {
        let kept = chain.kept.clone();
        Self {
            name: kept.name,
            description: kept.description.clone().ok(),
            problem: kept.description.err(),
            folder: chain.folder.clone(),
            asked_about: chain.is_untrusted,
            // The folder of a workspace may be named from the current one.
            path: std::path::absolute(&kept.path).unwrap_or(kept.path),
        }
    }
}
