//! The keys of one pairing in the vault: ours, and the one that verifies the app.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::DeviceError;
use crate::key_vault::KeyVault;
use crate::keys::{KeyError, OwnKey, PeerKey};

/// The keys of both directions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeyPair {
    pub(crate) ours: OwnKey,
    pub(crate) theirs: PeerKey,
}

impl KeyPair {
    /// Creates our key for a peer.
    pub(crate) fn fresh(theirs: PeerKey) -> Result<Self, KeyError> {
        Ok(Self { ours: OwnKey::fresh_like(&theirs)?, theirs })
    }

    /// Reads the keys of an app; `None` if it has none any more.
    pub(crate) async fn read(
        vault: &Arc<dyn KeyVault>,
        id: &str,
    ) -> Result<Option<Self>, DeviceError> {
        let name = secret_name(id);
        let text = on_vault(vault, move |vault| vault.get(&name)).await?;
        let Some(text) = text else { return Ok(None) };
        let keys: Self = serde_json::from_str(&text)
            .map_err(|_| DeviceError::Vault(format!("the keys of the app {id} are damaged")))?;
        keys.mask(vault);
        Ok(Some(keys))
    }

    /// Stores the keys of an app.
    pub(crate) async fn store(
        &self,
        vault: &Arc<dyn KeyVault>,
        id: &str,
    ) -> Result<(), DeviceError> {
        self.mask(vault);
        let text =
            serde_json::to_string(self).map_err(|error| DeviceError::Vault(error.to_string()))?;
        let name = secret_name(id);
        on_vault(vault, move |vault| vault.set(&name, &text)).await
    }

    /// Removes the keys of an app.
    pub(crate) async fn remove(vault: &Arc<dyn KeyVault>, id: &str) -> Result<(), DeviceError> {
        let name = secret_name(id);
        on_vault(vault, move |vault| vault.remove(&name)).await
    }

    fn mask(&self, vault: &Arc<dyn KeyVault>) {
        vault.mask(self.ours.secret());
        if let Some(secret) = self.theirs.secret() {
            vault.mask(secret);
        }
    }
}

async fn on_vault<T: Send + 'static>(
    vault: &Arc<dyn KeyVault>,
    work: impl FnOnce(&dyn KeyVault) -> Result<T, String> + Send + 'static,
) -> Result<T, DeviceError> {
    let vault = Arc::clone(vault);
    let done = tokio::task::spawn_blocking(move || work(&*vault)).await;
    done.map_err(|error| DeviceError::Vault(error.to_string()))?.map_err(DeviceError::Vault)
}

fn secret_name(id: &str) -> String {
    format!("app-key-{id}")
}
