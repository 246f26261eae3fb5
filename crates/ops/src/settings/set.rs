//! Sets a key of the configuration, or removes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SECRET_MASK;
use super::configuration::{Configuration, Reloaded, SettingRow};
use crate::administration::{Act, Recorder};
use crate::error::OpError;

/// A change of a key.
#[derive(Debug, Clone)]
pub struct ChangeSettingRequest {
    /// The key, such as `limits.calls`.
    pub key: String,
    /// Its value as text; `None` removes the key from the file, and [`SECRET_MASK`] keeps the
    /// present value.
    pub value: Option<String>,
}

/// A changed setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingChanged {
    /// The key with its value in force; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<SettingRow>,
    /// The result of reloading the configuration.
    pub reloaded: Reloaded,
}

/// Changes a key of the configuration, and applies the change.
///
/// # Errors
/// The errors of [`Configuration::write`]; [`OpError::Invalid`] if the key is written and the whole
/// configuration cannot be used; [`OpError::Unrecorded`].
pub async fn change(
    configuration: &dyn Configuration,
    recorder: &Recorder<'_>,
    request: ChangeSettingRequest,
) -> Result<SettingChanged, OpError> {
    let ChangeSettingRequest { key, value } = request;
    let reloaded = if value.as_deref() == Some(SECRET_MASK) {
        Reloaded::default()
    } else {
        configuration.write(&key, value.as_deref())?;
        // Omit the value: people sometimes enter a secret.
        let act = if value.is_some() { "setting.set" } else { "setting.unset" };
        recorder.record(Act::new(act, key.as_str())).await?;
        configuration.reload().await.map_err(|error| {
            let what = "is written, and the configuration cannot be used yet";
            OpError::Invalid(format!("{key} {what}: {error}"))
        })?
    };
    let setting = configuration.settings()?.into_iter().find(|row| row.key == key);
    Ok(SettingChanged { setting, reloaded })
}
