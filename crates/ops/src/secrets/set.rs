//! Stores a secret.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{Clock as _, SystemClock};
use toolcrib_store::vault::{Secret, Vault};

use super::context::{SecretContext, missing, parse_name};
use crate::administration::Act;
use crate::error::OpError;
use crate::settings::SECRET_MASK;

/// A secret to store.
pub struct SetSecretRequest {
    /// Its name.
    pub name: String,
    /// Its value; `None` keeps the stored one.
    pub value: Option<Secret>,
}

impl SetSecretRequest {
    /// Creates a request from a value as text, 8 characters to 64 KB; [`SECRET_MASK`] keeps the
    /// stored one.
    ///
    /// # Errors
    /// [`OpError::Invalid`].
    pub fn from_text(name: String, value: String) -> Result<Self, OpError> {
        if value == SECRET_MASK {
            return Ok(Self { name, value: None });
        }
        let secret = Secret::new(value).map_err(|error| OpError::Invalid(error.to_string()))?;
        Ok(Self { name, value: Some(secret) })
    }
}

/// The result of a change of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretStored {
    /// Its name.
    pub name: String,
    /// Whether the name had a value before.
    pub replaced: bool,
    /// Whether the stored value was kept, because `***` was written back.
    pub unchanged: bool,
}

/// Stores a secret, encrypted, and passes it to its consumers.
///
/// # Errors
/// [`OpError::Invalid`] for a bad name, [`OpError::NotFound`] if there is no value to keep,
/// [`OpError::Conflict`] if a secret with a similar name exists, [`OpError::Vault`],
/// [`OpError::Unrecorded`].
pub async fn set(
    ctx: &SecretContext<'_>,
    request: SetSecretRequest,
) -> Result<SecretStored, OpError> {
    let name = parse_name(&request.name)?;
    let Some(secret) = request.value else {
        let listed = ctx.run(Vault::list).await?;
        if !listed.iter().any(|secret| secret.name == name) {
            return Err(missing(&name));
        }
        return Ok(SecretStored { name: name.to_string(), replaced: true, unchanged: true });
    };
    // Mask the value before any other use.
    if let Some(masked) = ctx.masked {
        masked.add([secret.expose()]);
    }
    let stored_name = name.clone();
    let replaced =
        ctx.run(move |vault| vault.set(&stored_name, &secret, SystemClock.now_ms())).await?;
    ctx.recorder.record(Act::new("secret.set", name.as_str())).await?;
    ctx.reload(&name).await?;
    Ok(SecretStored { name: name.to_string(), replaced, unchanged: false })
}
