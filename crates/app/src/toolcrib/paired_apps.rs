//! Paired apps of a Toolcrib, on its stores.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_devices::{Apps, AppsParts, KeyVault, NodePairing};
use toolcrib_engine::Engine;

use super::Toolcrib;
use super::from_settings::http_client;
use crate::mail_vault::MailVault;
use crate::settings::{Settings, SetupError};
use crate::stores::Stores;

/// Creates the paired apps.
pub(super) fn paired_apps(
    settings: &Settings,
    stores: &Stores,
    engine: &Engine,
) -> Result<Apps, SetupError> {
    let vault = key_vault(settings, engine);
    let store = Arc::clone(&stores.assistant_rows);
    Ok(Apps::new(AppsParts { store, vault, client: http_client(settings)? }))
}

fn key_vault(settings: &Settings, engine: &Engine) -> Arc<dyn KeyVault> {
    let masked = engine.sealing().secrets.clone();
    Arc::new(MailVault { vault: settings.vault.clone(), masked })
}

impl Toolcrib {
    /// Returns the pairing of this machine as a node of a daemon on another machine.
    ///
    /// # Errors
    /// [`SetupError`] if the settings of the network are not valid.
    pub fn node_pairing(&self) -> Result<NodePairing, SetupError> {
        let vault = key_vault(&self.settings(), self.engine());
        Ok(NodePairing::new(vault, http_client(&self.settings())?))
    }

    /// Returns the paired apps of the owner.
    #[must_use]
    pub fn apps(&self) -> &Apps {
        &self.apps
    }

    /// Returns the interval of the health checks of apps.
    #[must_use]
    pub fn app_health_interval(&self) -> Duration {
        self.settings().app_health_interval
    }
}
