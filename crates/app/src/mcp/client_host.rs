//! Client host: gives MCP connections the program runner, the network, the vault, and storage for
//! reviewed tools.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use toolcrib_builtins::program_runner::{Needs, Program, ProgramRunner};
use toolcrib_core::{BoxFuture, CallCtx, Clock as _, KeyValueStore, StoreError, SystemClock};
use toolcrib_engine::Secrets;
use toolcrib_mcp::client::{
    ClientHost, Elicitation, Elicited, ReviewedTools, ServerName, Stdio, StoredCredentials,
};
use toolcrib_mcp::client_channel::ClientChannels;
use toolcrib_net::HttpClient;
use toolcrib_sandbox::Process;
use toolcrib_store::vault::{Secret, SecretName, Vault};

use super::McpServers;
use crate::vault_secrets;

pub(crate) struct McpClientHost {
    pub(crate) workbench: Option<Arc<ProgramRunner>>,
    pub(crate) client: HttpClient,
    pub(crate) vault: Option<Vault>,
    /// Masked values; tokens are added when they are stored.
    pub(crate) secrets: Secrets,
    pub(crate) facts: Arc<dyn KeyValueStore>,
    pub(crate) logs: PathBuf,
    pub(crate) client_channel: ClientChannels,
    /// The servers of this host; set once they are created.
    pub(crate) servers: OnceLock<Weak<McpServers>>,
}

fn pins_key(server: &str) -> String {
    format!("mcp.pins.{server}")
}

fn seen_key(server: &str) -> String {
    format!("mcp.seen.{server}")
}

/// Forgets what was reviewed of a server, so that a later one of the same name starts anew.
///
/// # Errors
/// Those of the store.
pub async fn forget_reviews(facts: &dyn KeyValueStore, server: &str) -> Result<(), StoreError> {
    for key in [pins_key(server), seen_key(server)] {
        if facts.value(&key).await?.is_some() {
            facts.put_value(&key, "").await?;
        }
    }
    Ok(())
}

/// Name of the secret with the authorization for a server.
fn oauth_secret_name(server: &str) -> Option<SecretName> {
    vault_secrets::oauth_secret_name(&ServerName::new(server).ok()?)
}

impl ClientHost for McpClientHost {
    fn start<'a>(
        &'a self,
        _: &'a str,
        program: &'a Stdio,
    ) -> BoxFuture<'a, Result<Process, String>> {
        Box::pin(async move {
            let bench = self.workbench.as_ref().ok_or("programs cannot be run here")?;
            let needs = Needs { network: program.network, ..Needs::default() };
            let mut job = Program::new(&program.command).args(&program.args).needs(needs);
            for (name, value) in &program.env {
                job = job.env(name, value);
            }
            if let Some(folder) = &program.folder {
                job = job.folder(folder);
            }
            // It serves calls of all agents.
            let masks = bench.path_masks(&bench.shared_denials()).await;
            let masks = masks.map_err(|error| error.message)?;
            bench.start(&job, &masks).await.map_err(|error| error.message)
        })
    }

    fn http(&self) -> HttpClient {
        self.client.clone()
    }

    fn secret(&self, name: &str) -> Result<String, String> {
        let none =
            || format!("the secret {name} is not set; `toolcrib secret set {name}` keeps it");
        let vault = self.vault.as_ref().ok_or_else(none)?;
        let secrets = vault.read().map_err(|error| error.to_string())?;
        let found = name.parse::<SecretName>().ok().and_then(|name| secrets.get(&name).cloned());
        found.map(|secret| secret.expose().to_owned()).ok_or_else(none)
    }

    fn authorization<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let (vault, name) = (self.vault.clone()?, oauth_secret_name(server)?);
            let read = move || Some(vault.read().ok()?.get(&name)?.expose().to_owned());
            let text = tokio::task::spawn_blocking(read).await.ok()??;
            // Another process may have stored it, so its values are masked here too.
            self.secrets.add(StoredCredentials::secret_values(&text).iter().map(String::as_str));
            Some(text)
        })
    }

    fn authorizations_changed(&self) -> u64 {
        self.vault.as_ref().map_or(0, Vault::stamp)
    }

    fn store_authorization<'a>(
        &'a self,
        server: &'a str,
        text: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let (Some(vault), Some(name)) = (self.vault.clone(), oauth_secret_name(server)) else {
                return Err("there is no vault".to_owned());
            };
            let values = text.map(StoredCredentials::secret_values).unwrap_or_default();
            self.secrets.add(values.iter().map(String::as_str));
            let text = text.map(str::to_owned);
            let write = move || match text {
                Some(text) => {
                    let secret = Secret::new(text).map_err(|error| error.to_string())?;
                    let set = vault.set(&name, &secret, SystemClock.now_ms());
                    set.map(drop).map_err(|error| error.to_string())
                }
                None => vault.remove(&name).map(drop).map_err(|error| error.to_string()),
            };
            let written = tokio::task::spawn_blocking(write).await;
            written.map_err(|error| error.to_string())?
        })
    }

    fn lock_authorization<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Box<dyn Send>> {
        let (folder, path) = (self.logs.clone(), self.logs.join(format!("{server}.lock")));
        let wait = move || -> std::io::Result<File> {
            std::fs::create_dir_all(folder)?;
            let file = File::create(path)?;
            file.lock()?;
            Ok(file)
        };
        Box::pin(async move {
            let waited = tokio::task::spawn_blocking(wait).await;
            // Without a folder for the lock there is no other process to exclude.
            Box::new(waited.ok().and_then(Result::ok)) as Box<dyn Send>
        })
    }

    fn reviewed_tools<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Option<ReviewedTools>> {
        Box::pin(async move {
            let text = self.facts.value(&pins_key(server)).await.ok()??;
            serde_json::from_str(&text).ok()
        })
    }

    fn store_reviewed_tools<'a>(
        &'a self,
        server: &'a str,
        pins: &'a ReviewedTools,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let text = serde_json::to_string(pins).map_err(|error| error.to_string())?;
            let kept = self.facts.put_value(&pins_key(server), &text).await;
            kept.map_err(|error| error.to_string())
        })
    }

    fn seen_tools<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Option<ReviewedTools>> {
        Box::pin(async move {
            let text = self.facts.value(&seen_key(server)).await.ok()??;
            serde_json::from_str(&text).ok()
        })
    }

    fn store_seen_tools<'a>(
        &'a self,
        server: &'a str,
        seen: Option<&'a ReviewedTools>,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let key = seen_key(server);
            let text = seen.and_then(|seen| serde_json::to_string(seen).ok()).unwrap_or_default();
            let before = self.facts.value(&key).await.ok().flatten().unwrap_or_default();
            if before != text {
                // Without it the tools are held again as soon as the server is connected.
                let _ = self.facts.put_value(&key, &text).await;
            }
        })
    }

    fn log_file(&self, server: &str) -> Option<PathBuf> {
        Some(self.logs.join(format!("{server}.log")))
    }

    fn tools_changed(&self, server: &str) {
        let Some(servers) = self.servers.get().and_then(Weak::upgrade) else { return };
        let server = server.to_owned();
        // Spawned, because attaching locks the connection, which the caller may hold.
        tokio::spawn(async move { servers.attach_again(&server).await });
    }

    /// A question in the middle of a call goes to the MCP client that made the call, if there is
    /// one and it supports such questions.
    fn ask<'a>(&'a self, call: &'a CallCtx, question: Elicitation) -> BoxFuture<'a, Elicited> {
        Box::pin(async move {
            let Some(caller) = self.client_channel.get(call.call) else {
                return Elicited::Decline;
            };
            let able = match question.url {
                Some(_) => caller.can_open_pages(),
                None => caller.can_elicit(),
            };
            if !able {
                return Elicited::Decline;
            }
            caller.elicit(question.attributed_params()).await
        })
    }

    fn progress(&self, call: &CallCtx, done: f64, total: Option<f64>, message: Option<String>) {
        let Some(caller) = self.client_channel.get(call.call) else { return };
        tokio::spawn(async move { caller.progress(done, total, message).await });
    }
}
