//! Reloads the configuration.

use super::configuration::{Configuration, Reloaded};
use crate::administration::{Act, Recorder};
use crate::error::OpError;

/// Reads all files of the configuration again and applies them.
///
/// # Errors
/// The fault of the configuration, which then stays unchanged; [`OpError::Unrecorded`].
pub async fn reload(
    configuration: &dyn Configuration,
    recorder: &Recorder<'_>,
) -> Result<Reloaded, OpError> {
    let reloaded = configuration.reload().await?;
    recorder.record(Act::new("settings.reload", "")).await?;
    Ok(reloaded)
}
