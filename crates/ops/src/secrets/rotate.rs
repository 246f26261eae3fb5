//! Encrypts all secrets with a new key.

use serde::Serialize;
use toolcrib_store::vault::Vault;

use super::context::SecretContext;
use crate::administration::Act;
use crate::error::OpError;

/// The result of a rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RotatedSecrets {
    /// Number of secrets.
    pub rotated: usize,
}

/// Encrypts all secrets with a new key. Until the next rotation, the old key still opens waiting
/// calls.
///
/// # Errors
/// [`OpError::Vault`], [`OpError::Unrecorded`].
pub async fn rotate(ctx: &SecretContext<'_>) -> Result<RotatedSecrets, OpError> {
    let rotated = ctx.run(Vault::rotate).await?;
    ctx.recorder.record(Act::new("secret.rotate", "")).await?;
    Ok(RotatedSecrets { rotated })
}
