//! Policy of the host program.

use std::sync::Arc;

use toolcrib_core::{Guard, Permissions};
use toolcrib_engine::Policy;

use crate::hooks::Hooks;
use crate::settings::Settings;

/// Policy set by the host program on the builder; it stays when the settings change.
#[derive(Default)]
pub(crate) struct HostPolicy {
    pub(super) permissions: Option<Arc<dyn Permissions>>,
    pub(super) guards: Vec<Arc<dyn Guard>>,
    pub(super) secrets: Vec<String>,
}

impl HostPolicy {
    /// Returns the policy from these settings and hooks; `secrets` are those of the vault.
    pub(crate) fn policy(
        &self,
        settings: &Settings,
        hooks: &Hooks,
        secrets: Vec<String>,
    ) -> Policy {
        let permissions = match &self.permissions {
            Some(host) => Arc::clone(host),
            None => Arc::new(settings.permissions.clone()),
        };
        Policy {
            settings: settings.engine.clone(),
            rules: settings.rules.clone(),
            permissions,
            // Hooks of the settings run last: their rewritten arguments are final.
            guards: self.guards.iter().cloned().chain(hooks.guards()).collect(),
            secrets: self.secrets.iter().cloned().chain(secrets).collect(),
        }
    }
}
