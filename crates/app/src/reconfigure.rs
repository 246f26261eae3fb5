//! Reconfiguration of a running Toolcrib: all new settings take effect, or none.

use std::sync::{Arc, PoisonError};

use toolcrib_builtins::program_runner::ProgramRunner;
use toolcrib_mcp::client::Remote;
use toolcrib_store::vault::Vault;

use crate::settings::{Settings, SetupError};
use crate::toolcrib::{Toolcrib, http_client, roots};
use crate::{vault_secrets, workbench};

impl Toolcrib {
    /// Applies new settings, also to running runs: rules, permissions, presets, flags, limits,
    /// per-tool settings, the heartbeat, hooks, secrets and configuration values derived from them;
    /// tool folders and MCP servers are read again. [`toolcrib_engine::Engine::reconfigure`]
    /// documents the evaluation of calls that were received earlier.
    ///
    /// Settings that cannot change at run time keep their value. Returns the names of those that
    /// differ, in a fixed order: `roots`, `state`, `allow_net`, `resolve`, `database`,
    /// `tool_folders`, `protected`, `vault`, `discovery` (its models), `workbench` (whether there
    /// is one; a changed program policy applies to programs that start later), `web`,
    /// `notifications`, `calendar`, `mail_accounts`, `channel_accounts`, `sms_phone`. MCP servers
    /// that are new, changed or gone take effect at once ([`crate::mcp::McpServers`]).
    ///
    /// # Errors
    /// [`SetupError`] if any setting is invalid, including those that need a restart; no setting is
    /// changed in that case.
    pub async fn reconfigure(&self, settings: Settings) -> Result<Vec<&'static str>, SetupError> {
        let before = self.settings();
        let waiting = restart_needed(&before, &settings);
        check_unchangeable(&settings, &waiting)?;
        let mut settings = keep_until_restart(&before, settings);
        let secrets = vault_secrets::inject_secrets(&mut settings)?;
        let hooks = self.hooks.hooks().with_hooks(&settings.hooks);
        // Before the guards take effect, so that they know tool aliases from the first call on.
        hooks.learn_aliases(self.engine());
        let policy = self.host.policy(&settings, &hooks, secrets);
        let kept = Arc::new(settings.clone());
        self.folders
            .reconfigure(&settings, self.catalog(), || {
                self.engine().reconfigure(policy);
                self.hooks.change(hooks.clone());
                self.heartbeats().set_settings(settings.heartbeat.clone());
                self.drafts().set_rules(settings.send_rules.clone());
                *self.settings.write().unwrap_or_else(PoisonError::into_inner) = kept;
            })
            .await
            .map_err(SetupError::Source)?;
        hooks.learn_aliases(self.engine());
        let confines = workbench::sandbox_confines(&self.settings());
        if let (Some(workbench), Some(confines)) = (self.workbench(), confines) {
            workbench.set_program_policy(confines);
            self.renew_shared_denials(workbench).await;
        }
        self.mcp().apply(&self.settings().mcp_servers).await;
        Ok(waiting)
    }
}

impl Toolcrib {
    /// Applies path rules to MCP servers: a running server started under the old rules, so it is
    /// ended, and the next call starts it again.
    async fn renew_shared_denials(&self, workbench: &ProgramRunner) {
        let denials = workbench::shared_denials(&self.settings());
        let before = workbench.shared_denials();
        workbench.set_shared_denials(Arc::clone(&denials));
        if before.scopes() == denials.scopes() {
            return;
        }
        for connection in self.mcp().connections() {
            if matches!(connection.config().remote, Remote::Stdio(_)) {
                connection.disconnect().await;
            }
        }
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
        // The file tools' protected paths are fixed when the tools are created.
        ("tool_folders", before.tool_folders != now.tool_folders),
        ("protected", before.protected != now.protected),
        ("vault", place(&before.vault) != place(&now.vault)),
        ("discovery", before.discovery.search_mode() != now.discovery.search_mode()),
        ("workbench", before.workbench.is_some() != now.workbench.is_some()),
        ("web", before.web != now.web),
        ("notifications", before.notifications != now.notifications),
        ("calendar", before.calendar != now.calendar),
        ("mail_accounts", before.mail_accounts != now.mail_accounts),
        ("channel_accounts", before.channel_accounts != now.channel_accounts),
        ("sms_phone", before.sms_phone != now.sms_phone),
    ];
    changed.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
}

/// Validates settings that would otherwise fail only at the next start.
fn check_unchangeable(settings: &Settings, changed: &[&str]) -> Result<(), SetupError> {
    if changed.iter().any(|name| matches!(*name, "allow_net" | "resolve")) {
        http_client(settings)?;
    }
    if !settings.roots.is_empty() && !changed.is_empty() {
        roots(settings)?;
    }
    Ok(())
}

/// Returns the new settings with the unchangeable ones kept.
fn keep_until_restart(before: &Settings, now: Settings) -> Settings {
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
        web: before.web,
        notifications: before.notifications,
        calendar: before.calendar,
        mail_accounts: before.mail_accounts,
        channel_accounts: before.channel_accounts,
        sms_phone: before.sms_phone,
        workbench: now.workbench.filter(|_| before.workbench.is_some()),
        ..now
    }
}
