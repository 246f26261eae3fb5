//! Removes a secret.

use serde::Serialize;

use super::context::{SecretContext, missing, parse_name};
use crate::administration::Act;
use crate::error::OpError;

/// The secret to remove.
#[derive(Debug, Clone)]
pub struct RemoveSecretRequest {
    /// Its name.
    pub name: String,
}

/// The removed secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemovedSecret {
    /// Its name.
    pub removed: String,
}

/// Removes a secret. Its value stays masked for as long as the process lives.
///
/// # Errors
/// [`OpError::Invalid`] for a bad name, [`OpError::NotFound`], [`OpError::Vault`],
/// [`OpError::Unrecorded`].
pub async fn remove(
    ctx: &SecretContext<'_>,
    request: RemoveSecretRequest,
) -> Result<RemovedSecret, OpError> {
    let name = parse_name(&request.name)?;
    let removed_name = name.clone();
    if !ctx.run(move |vault| vault.remove(&removed_name)).await? {
        return Err(missing(&name));
    }
    ctx.recorder.record(Act::new("secret.remove", name.as_str())).await?;
    ctx.reload(&name).await?;
    Ok(RemovedSecret { removed: name.to_string() })
}
