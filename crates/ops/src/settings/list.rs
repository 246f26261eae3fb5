//! Lists the keys of the configuration.

use super::configuration::{Configuration, SettingRow};
use crate::error::OpError;

/// Lists every key with its value in force and the layer that sets it.
///
/// # Errors
/// The reason why the configuration cannot be read.
pub fn list(configuration: &dyn Configuration) -> Result<Vec<SettingRow>, OpError> {
    configuration.settings()
}
