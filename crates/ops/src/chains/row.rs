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
    /// Its own description.
    pub description: Option<String>,
    /// Why it is not a tool; absent if it is one.
    pub problem: Option<String>,
    /// Its folder: `own`, `workspace`, or the id of a configured one.
    pub folder: String,
    /// Whether it asks for an approval before it runs, because its author is unknown.
    pub asked_about: bool,
    /// Its file.
    #[schemars(with = "String")]
    pub path: PathBuf,
}

/// A script with its text.
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
            // The path of a workspace's folder may be relative to the current one.
            path: std::path::absolute(&kept.path).unwrap_or(kept.path),
        }
    }
}
