//! A paired app as it is stored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toolcrib_core::{Risk, canonical_json};
use toolcrib_mcp::client::{PendingReview, Pin, ReviewedTools};

use crate::pairing::DeviceKind;

/// Characters of the name of an app.
const NAME_CHARS: usize = 24;

/// A paired app. Its keys are in the vault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct App {
    /// Its id, which stays when it is renamed.
    pub id: String,
    /// Its name, the part of the names of its tools.
    pub name: String,
    /// Its kind.
    #[serde(default)]
    pub kind: DeviceKind,
    /// Where it listens.
    pub address: String,
    /// Fingerprint of its key.
    pub fingerprint: String,
    /// Unix time in milliseconds.
    pub paired_at: i64,
    /// Who confirmed it.
    pub paired_by: String,
    /// The definitions that the owner has reviewed.
    pub reviewed: ReviewedTools,
    /// The risk of each tool, as the owner has chosen it.
    pub risks: BTreeMap<String, Risk>,
    /// The definitions that the app has now, if they differ from the reviewed ones.
    #[serde(default)]
    pub seen: Option<ReviewedTools>,
    /// The types of its signals.
    #[serde(default)]
    pub signals: Vec<String>,
    /// Since when and why it cannot be reached.
    #[serde(default)]
    pub offline: Option<Offline>,
}

/// Since when and why an app cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offline {
    /// Unix time in milliseconds.
    pub since: i64,
    /// The reason, as a sentence fragment.
    pub reason: String,
}

/// Whether an app can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppStatus {
    /// It answers.
    Connected,
    /// It missed three health checks in a row.
    Offline,
}

impl App {
    /// Returns whether it can be reached, as far as known.
    #[must_use]
    pub fn status(&self) -> AppStatus {
        if self.offline.is_some() { AppStatus::Offline } else { AppStatus::Connected }
    }

    /// Returns why it cannot be reached.
    #[must_use]
    pub fn offline_reason(&self) -> Option<&str> {
        self.offline.as_ref().map(|offline| offline.reason.as_str())
    }

    /// Returns the digest of the definitions that a review would accept.
    #[must_use]
    pub fn review_digest(&self) -> String {
        let now = self.seen.as_ref().unwrap_or(&self.reviewed);
        let tools = serde_json::to_value(&now.tools).unwrap_or_default();
        canonical_json::sha256_parts(&[&now.identity, &canonical_json::sha256(&tools)])
    }

    /// Returns the tools whose definitions differ from the reviewed ones; they cannot be called.
    #[must_use]
    pub fn held(&self) -> Vec<PendingReview> {
        let seen = self.seen.as_ref();
        seen.map(|seen| self.reviewed.pending_reviews(seen, Pin::Definition)).unwrap_or_default()
    }
}

/// Returns the id of the source of an app's tools. The dot keeps it apart from MCP servers, whose
/// names have none.
#[must_use]
pub fn source_id(name: &str) -> String {
    format!("app.{name}")
}

/// Returns the prefix of the names of an app's tools, without the `__`.
pub(crate) fn tool_prefix(name: &str) -> String {
    format!("if_{name}")
}

/// Checks the name of an app.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_good = begins
        && name.len() <= NAME_CHARS
        && name.chars().all(plain)
        && !name.contains("__")
        && !name.ends_with('_');
    if is_good {
        return Ok(());
    }
    Err(format!(
        "the name of an app has 1 to {NAME_CHARS} of a-z, 0-9 and single `_`, and begins with a letter"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for name in ["office", "a", "my_app2"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "a".repeat(25);
        for name in ["", "Office", "2a", "a__b", "a_", "a-b", "оffice", "a.b", "a b", &long] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
