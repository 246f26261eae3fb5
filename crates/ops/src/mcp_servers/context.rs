//! The context of changes of MCP servers: their file, the vault and the audit.

use toolcrib_app::Secrets;
use toolcrib_store::vault::Vault;

use super::file::McpServersFile;
use crate::administration::{Act, Recorder};
use crate::error::OpError;
use crate::secrets::{self, SecretContext, SetSecretRequest};
use crate::settings::Configuration;

/// The file of servers, and what follows a change of it.
pub struct McpServersContext<'a> {
    /// The file.
    pub file: McpServersFile,
    /// The vault, which has the authorizations and secrets of servers, or why there is none.
    pub vault: Result<Vault, OpError>,
    /// Masks new values in all output of this process; `None` where it ends at once.
    pub masked: Option<&'a Secrets>,
    /// Records changes, by the names of servers.
    pub recorder: Recorder<'a>,
    /// Puts changes in force; `None` where the process ends at once.
    pub configuration: Option<&'a dyn Configuration>,
}

impl McpServersContext<'_> {
    /// Stores secrets before the file names them.
    pub(super) async fn keep_secrets(&self, pairs: Vec<(String, String)>) -> Result<(), OpError> {
        if pairs.is_empty() {
            return Ok(());
        }
        let ctx = SecretContext {
            vault: self.vault.clone()?,
            masked: self.masked,
            recorder: self.recorder,
            // The change of the file puts them in force.
            configuration: None,
        };
        for (name, value) in pairs {
            secrets::set(&ctx, SetSecretRequest::from_text(name, value)?).await?;
        }
        Ok(())
    }

    /// Puts a change of the file in force, and records it for each server.
    pub(super) async fn put_in_force(
        &self,
        act: &'static str,
        names: &[String],
    ) -> Result<(), OpError> {
        if let Some(configuration) = self.configuration {
            configuration.reload().await?;
        }
        for name in names {
            self.recorder.record(Act::new(act, name)).await?;
        }
        Ok(())
    }
}
