//! Paired apps of a Toolcrib, on its stores.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_devices::{Apps, AppsParts, KeyVault};
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
    let masked = engine.sealing().secrets.clone();
    let vault: Arc<dyn KeyVault> = Arc::new(MailVault { vault: settings.vault.clone(), masked });
    let store = Arc::clone(&stores.assistant_rows);
    Ok(Apps::new(AppsParts { store, vault, client: http_client(settings)? }))
}

impl Toolcrib {
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
