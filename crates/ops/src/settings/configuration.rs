//! The context of operations on the configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::BoxFuture;

use crate::error::OpError;

/// One key of the configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingRow {
    /// The key, such as `tools.fetch_url.timeout`.
    pub key: String,
    /// Its current value; secrets are `***`.
    pub value: Value,
    /// The layer that sets it, such as `user` or `default`.
    #[serde(default)]
    pub layer: String,
    /// Position in the layer: a file with its line, or a variable; empty for a default.
    pub origin: String,
    /// Whether it is a secret, whose value is never shown.
    #[serde(default)]
    pub secret: bool,
    /// Whether changes take effect without a restart.
    pub live: bool,
}

/// The result of reloading the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reloaded {
    /// Settings that changed and take effect only after a restart.
    pub needs_restart: Vec<String>,
    /// Remarks on the configuration, for people.
    pub remarks: Vec<String>,
}

/// The configuration of this process: its files, and the values in force.
pub trait Configuration: Send + Sync {
    /// Returns all keys with the values in force.
    ///
    /// # Errors
    /// The reason why the configuration cannot be read.
    fn settings(&self) -> Result<Vec<SettingRow>, OpError>;

    /// Writes a key into a file; `None` removes it. If the whole configuration would not be valid,
    /// the file stays unchanged.
    ///
    /// # Errors
    /// [`OpError::Invalid`] for an invalid key or value, [`OpError::Absent`] for a key to remove
    /// that the file does not have.
    fn write(&self, key: &str, value: Option<&str>) -> Result<(), OpError>;

    /// Reads all files again and applies them. An invalid configuration changes nothing.
    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, OpError>>;
}
