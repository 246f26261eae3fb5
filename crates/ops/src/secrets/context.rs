//! The context of operations on secrets.

use toolcrib_app::Secrets;
use toolcrib_store::vault::{SecretName, Vault, VaultError};

use crate::administration::Recorder;
use crate::error::{OpError, Resource};
use crate::settings::Configuration;

/// The vault, and the consequences of a change.
#[derive(Clone)]
pub struct SecretContext<'a> {
    /// The vault.
    pub vault: Vault,
    /// Masks new values in all output of this process; `None` if it ends at once.
    pub masked: Option<&'a Secrets>,
    /// Records changes, by the names of secrets.
    pub recorder: Recorder<'a>,
    /// Passes the current content of the vault to tools and providers; `None` if the process ends
    /// at once.
    pub configuration: Option<&'a dyn Configuration>,
}

impl SecretContext<'_> {
    /// Runs work on the vault, which reads and writes files, on a thread for blocking tasks.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Vault) -> Result<T, VaultError> + Send + 'static,
    ) -> Result<T, OpError> {
        let vault = self.vault.clone();
        match tokio::task::spawn_blocking(move || work(&vault)).await {
            Ok(done) => Ok(done?),
            Err(error) => Err(OpError::Internal(format!("the work on the vault failed: {error}"))),
        }
    }

    /// Applies the change of a secret.
    pub(super) async fn reload(&self, name: &SecretName) -> Result<(), OpError> {
        let Some(configuration) = self.configuration else { return Ok(()) };
        configuration.reload().await.map(drop).map_err(|error| {
            let what = "is stored, but the configuration is invalid";
            OpError::Invalid(format!("the change of {name} {what}: {error}"))
        })
    }
}

pub(super) fn parse_name(text: &str) -> Result<SecretName, OpError> {
    text.parse().map_err(|error| OpError::Invalid(format!("{error}")))
}

pub(super) fn missing(name: &SecretName) -> OpError {
    OpError::not_found(Resource::Secret, name)
}

impl From<VaultError> for OpError {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::NearlyThere { .. } => Self::Conflict(error.to_string()),
            error => Self::Vault(error.to_string()),
        }
    }
}
