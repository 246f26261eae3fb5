//! Other settings for a Toolcrib at work: all of them or none.

use std::sync::{Arc, PoisonError};

use toolcrib_store::vault::Vault;

use crate::settings::{Settings, SetupError};
use crate::toolcrib::{Toolcrib, client, roots};
use crate::{vault, workbench};

impl Toolcrib {
    /// Puts other settings into force, for runs that are at work too: rules, permissions, presets, flags, limits, what is said of single
    /// tools, hooks, secrets and the values that come of them; folders of tools are read again. Calls that were received before are judged
    /// as [`toolcrib_engine::Engine::reconfigure`] says.
    ///
    /// What cannot change while it works stays as it is. The names of such settings that are others now, in a fixed order: `roots`, `state`,
    /// `allow_net`, `resolve`, `database`, `tool_folders`, `protected`, `vault`, `discovery` (its models), `workbench` (whether there is one;
    /// what programs may touch holds for those that start from now on), `mcp_servers`.
    ///
    /// # Errors
    /// [`SetupError`] when something in the settings cannot be used, also of what needs a restart; then nothing is changed.
    pub async fn reconfigure(&self, settings: Settings) -> Result<Vec<&'static str>, SetupError> {
        let before = self.settings();
        let waiting = restart_needed(&before, &settings);
        check(&settings, &waiting)?;
        let mut settings = keeping(&before, settings);
        let secrets = vault::unlock(&mut settings)?;
        let hooks = self.hooks.hooks().again(&settings.hooks);
        // Guards that come into force know the other names of tools from their first call on.
        hooks.know(self.engine());
        let policy = self.host.policy(&settings, &hooks, secrets);
        let kept = Arc::new(settings.clone());
        self.folders
            .reconfigure(&settings, self.catalog(), || {
                self.engine().reconfigure(policy);
                self.hooks.change(hooks.clone());
                *self.settings.write().unwrap_or_else(PoisonError::into_inner) = kept;
            })
            .await
            .map_err(SetupError::Source)?;
        hooks.know(self.engine());
        let confines = workbench::confines(&self.settings());
        if let (Some(workbench), Some(confines)) = (self.workbench(), confines) {
            workbench.confine(confines);
        }
        Ok(waiting)
    }
}

fn restart_needed(before: &Settings, now: &Settings) -> Vec<&'static str> {
    let place = |vault: &Option<Vault>| vault.as_ref().map(|vault| vault.folder().to_owned());
    let changed = [
        ("roots", before.roots != now.roots),
        ("state", before.state != now.state),
        ("allow_net", before.allow_net != now.allow_net),
        ("resolve", before.resolve != now.resolve),
        ("database", before.database != now.database),
        // What file tools must not touch is settled when they are made.
        ("tool_folders", before.tool_folders != now.tool_folders),
        ("protected", before.protected != now.protected),
        ("vault", place(&before.vault) != place(&now.vault)),
        ("discovery", before.discovery.finds_by() != now.discovery.finds_by()),
        ("workbench", before.workbench.is_some() != now.workbench.is_some()),
        ("mcp_servers", before.mcp_servers != now.mcp_servers),
    ];
    changed.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
}

/// What would only be found wrong at the next start.
fn check(settings: &Settings, changed: &[&str]) -> Result<(), SetupError> {
    if changed.iter().any(|name| matches!(*name, "allow_net" | "resolve")) {
        client(settings)?;
    }
    if !settings.roots.is_empty() && !changed.is_empty() {
        roots(settings)?;
    }
    Ok(())
}

/// The new settings, with what cannot change as it was.
fn keeping(before: &Settings, now: Settings) -> Settings {
    let before = before.clone();
    Settings {
        roots: before.roots,
        state: before.state,
        allow_net: before.allow_net,
        own_ports: before.own_ports,
        resolve: before.resolve,
        database: before.database,
        tool_folders: before.tool_folders,
        protected: before.protected,
        vault: before.vault,
        mcp_servers: before.mcp_servers,
        workbench: now.workbench.filter(|_| before.workbench.is_some()),
        ..now
    }
}
