//! Applies changed rules and settings during a session, from its next step on.

use std::sync::Mutex;

use toolcrib_agent::driver::ToolRefresh;
use toolcrib_app::Toolcrib;
use toolcrib_core::BoxFuture;

use super::RunSetup;
use crate::bootstrap;
use crate::config::{self, Config, Env, OnAsk};
use crate::daemon::config_watcher::{FileStamps, stamps};
use crate::output::Failure;

/// Reloads the files of a session's rules and settings when they have changed.
pub(super) struct ConfigRefresh {
    toolcrib: Toolcrib,
    setup: RunSetup,
    on_ask: Option<OnAsk>,
    config: Config,
    /// The stamps of the files when they were last read.
    seen: Mutex<FileStamps>,
}

impl ConfigRefresh {
    /// Creates the refresh; `config` was just read.
    pub(super) fn new(
        toolcrib: Toolcrib,
        setup: RunSetup,
        on_ask: Option<OnAsk>,
        config: Config,
    ) -> Self {
        let seen = Mutex::new(stamps(&setup.workspace_args(), &config));
        Self { toolcrib, setup, on_ask, config, seen }
    }

    /// Returns whether a file has changed since the last check.
    fn is_changed(&self) -> bool {
        let now = stamps(&self.setup.workspace_args(), &self.config);
        let mut seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_changed = *seen != now;
        *seen = now;
        is_changed
    }

    async fn reload(&self) -> Result<(), Failure> {
        let world = self.setup.workspace_args();
        let config = bootstrap::load_config(&world)?;
        let mut settings = bootstrap::settings(&world, &config)?;
        bootstrap::apply_on_ask(&mut settings, config.effective_on_ask(self.on_ask));
        bootstrap::check_tool_names(&self.toolcrib, &config, &settings.rules)?;
        // Register the keys before any of it is applied, so that no output shows them.
        let keys = config::known_keys(&config, &Env::from_process());
        self.toolcrib.engine().sealing().secrets.add(keys.iter().map(String::as_str));
        self.toolcrib.reconfigure(settings).await?;
        Ok(())
    }
}

impl ToolRefresh for ConfigRefresh {
    fn refresh(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async {
            if !self.is_changed() {
                return Vec::new();
            }
            match self.reload().await {
                Ok(()) => vec!["rules and settings were read again".to_owned()],
                Err(failure) => vec![format!(
                    "the changed rules and settings are not used, all is as before: {}",
                    failure.message
                )],
            }
        })
    }
}
