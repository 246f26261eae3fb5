//! Lists the keys of the configuration.

use super::configuration::{Configuration, SettingRow};
use crate::error::OpError;

/// Lists every key with its value in force and the layer that it comes from.
///
/// # Errors
/// What keeps the configuration from being read.
pub fn list(configuration: &dyn Configuration) -> Result<Vec<SettingRow>, OpError> {
    configuration.settings()
}
