//! What a program sends with a code, and what is kept of it until the owner decides.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::keys::PeerKey;

/// The kind of a paired program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A program with its own tools, at an address.
    #[default]
    App,
}

/// The claim of an app, as it arrives.
#[derive(Debug, Clone)]
pub struct NewClaim {
    /// The code, as typed.
    pub code: String,
    /// Name of the app: the part of the names of its tools.
    pub name: String,
    /// Where it listens.
    pub address: String,
    /// The key that verifies its messages.
    pub key: PeerKey,
    /// Its tools.
    pub capabilities: Value,
    /// The types of its signals.
    pub signals: Vec<String>,
}

/// A claim that waits for the owner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppClaim {
    /// Id of the app, if it is confirmed.
    pub id: String,
    /// Its kind.
    #[serde(default)]
    pub kind: DeviceKind,
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub address: String,
    /// Fingerprint of its key.
    pub fingerprint: String,
    /// Its tools, in the form of MCP with the proposed risk.
    pub capabilities: Vec<Value>,
    /// The types of its signals.
    pub signals: Vec<String>,
    /// Unix time in milliseconds.
    pub claimed_at: i64,
}

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedApp {
    /// Id of the pairing.
    pub pairing: String,
    /// Id of the app, which its requests name.
    pub id: String,
    /// Fingerprint of the app's key, which the owner compares.
    pub fingerprint: String,
    /// The key with which the app verifies our requests.
    pub daemon_key: PeerKey,
    /// Until when the owner can confirm it, Unix time in milliseconds.
    pub expires_at: i64,
}
