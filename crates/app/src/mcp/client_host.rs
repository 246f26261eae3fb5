//! Client host: gives MCP connections the program runner, the network, the vault, and storage for
//! reviewed tools.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use tokio::io::AsyncReadExt as _;
use toolcrib_builtins::program_runner::{PathMasks, ProgramPolicy, ProgramRunner, ProgramWatch};
use toolcrib_core::{
    BoxFuture, CallCtx, Clock as _, KeyValueStore, StoreError, SystemClock, ToolError,
};
use toolcrib_engine::Secrets;
use toolcrib_mcp::client::{
    CallWatch, ClientHost, Elicitation, Elicited, ReviewedTools, ServerName, Stdio,
    StoredCredentials, WorkspaceAccess, first_error,
};
use toolcrib_mcp::client_channel::ClientChannels;
use toolcrib_net::HttpClient;
use toolcrib_sandbox::{Process, Status};
use toolcrib_store::vault::{Secret, SecretName, Vault};

use super::launcher::{self, Phase};
use super::{McpServers, failed_start, program_digest, server_program};
use crate::vault_secrets;

/// Maximum number of bytes that are read of a launcher's output.
const MOST_FETCH_OUTPUT: u64 = 1 << 20;

/// Creates the HTTP client for the server at an address; `None` if the address is not valid.
pub(crate) type ClientForServer = Box<dyn Fn(&str) -> Option<HttpClient> + Send + Sync>;

pub(crate) struct McpClientHost {
    pub(crate) workbench: Option<Arc<ProgramRunner>>,
    pub(crate) client: HttpClient,
    /// Creates the client of a server at an address.
    pub(crate) client_for: ClientForServer,
    pub(crate) vault: Option<Vault>,
    /// Masked values; tokens are added when they are stored.
    pub(crate) secrets: Secrets,
    pub(crate) facts: Arc<dyn KeyValueStore>,
    pub(crate) logs: PathBuf,
    pub(crate) client_channel: ClientChannels,
    /// The servers of this host; set after they are created.
    pub(crate) servers: OnceLock<Weak<McpServers>>,
}

fn pins_key(server: &str) -> String {
    format!("mcp.pins.{server}")
}

fn seen_key(server: &str) -> String {
    format!("mcp.seen.{server}")
}

/// Removes the review of a server, so that a later server of the same name is reviewed again.
///
/// # Errors
/// The errors of the store.
pub async fn forget_reviews(facts: &dyn KeyValueStore, server: &str) -> Result<(), StoreError> {
    for key in [pins_key(server), seen_key(server), silent_key(server)] {
        if facts.value(&key).await?.is_some() {
            facts.put_value(&key, "").await?;
        }
    }
    Ok(())
}

/// Returns the name of the secret with the authorization for a server.
fn oauth_secret_name(server: &str) -> Option<SecretName> {
    vault_secrets::oauth_secret_name(&ServerName::new(server).ok()?)
}

/// Returns the key of the fact that a server leaves `server/discover` unanswered.
fn silent_key(server: &str) -> String {
    format!("mcp.silent.{server}")
}

/// Returns the masks of the paths that rules deny to a program that serves calls of all agents.
async fn shared_masks(bench: &ProgramRunner) -> Result<PathMasks, String> {
    let masks = bench.path_masks(&bench.shared_denials()).await;
    masks.map_err(|error| error.message)
}

/// Explains to the owner of a server why the sandbox did not start its program.
fn start_failure(server: &str, program: &Stdio, error: &ToolError) -> String {
    let why = error.detail.as_deref().unwrap_or(&error.message);
    let command = &program.command;
    let own = std::path::Path::new(command).parent().filter(|folder| folder.is_absolute());
    let hint = own.map_or_else(String::new, |folder| {
        let folder = folder.display();
        format!(". `toolcrib mcp set {server} --read {folder}` shows it the folder that it is in")
    });
    format!("{command} was not started: {why}{hint}")
}

/// Records the changes that one call of a server makes.
struct ServerWatch(ProgramWatch);

impl CallWatch for ServerWatch {
    fn end<'a>(mut self: Box<Self>, call: &'a CallCtx) -> BoxFuture<'a, Option<String>>
    where
        Self: 'a,
    {
        Box::pin(async move { self.0.end(call, "MCP server").await })
    }
}

impl McpClientHost {
    fn workbench(&self) -> Result<&Arc<ProgramRunner>, String> {
        self.workbench.as_ref().ok_or_else(|| "programs cannot be run here".to_owned())
    }

    /// Runs a launcher that fetches the program of a server.
    async fn fetch(
        &self,
        bench: &ProgramRunner,
        policy: &ProgramPolicy,
        server: &str,
        program: &Stdio,
    ) -> Result<(), String> {
        let job = server_program::program(policy, server, program, Phase::Fetch, false)?;
        let masks = shared_masks(bench).await?;
        let mut process = bench
            .start(&job, &masks)
            .await
            .map_err(|error| start_failure(server, program, &error))?;
        drop(process.stdin.take());
        let (mut wrote, mut errors) = (Vec::new(), Vec::new());
        let stdout = std::mem::replace(&mut process.stdout, Box::new(tokio::io::empty()));
        let stderr = std::mem::replace(&mut process.stderr, Box::new(tokio::io::empty()));
        let mut stdout = stdout.take(MOST_FETCH_OUTPUT);
        let mut stderr = stderr.take(MOST_FETCH_OUTPUT);
        let (_, _, ended) = tokio::join!(
            stdout.read_to_end(&mut wrote),
            stderr.read_to_end(&mut errors),
            process.wait(),
        );
        let ended = ended.map_err(|error| error.to_string())?;
        if ended.status == Status::Exited(0) {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&errors).into_owned();
        let refused = process.refused();
        let package = program.launcher.as_ref().map(|own| own.package.as_str()).unwrap_or_default();
        let first = first_error(&errors).unwrap_or_else(|| "it wrote nothing".to_owned());
        let asked = refused.first().map_or_else(String::new, |refused| {
            let (host, rule) = (&refused.host, &refused.rule);
            if rule == "host.not_listed" {
                let name = host.strip_suffix(":443").unwrap_or(host);
                return format!(
                    "; it asked for {host}, which is not the registry of its entry: `toolcrib mcp set {server} --allow-host {name}` opens it"
                );
            }
            format!("; {host} is refused by {rule} (`toolcrib net check https://{host}/`)")
        });
        let explained = failed_start::explain(server, program, &errors)
            .filter(|_| refused.is_empty())
            .map_or_else(String::new, |text| format!(". {text}"));
        Err(format!("the package {package} could not be fetched: {first}{asked}{explained}"))
    }
}

impl ClientHost for McpClientHost {
    fn start<'a>(
        &'a self,
        server: &'a str,
        program: &'a Stdio,
        first_sight: bool,
    ) -> BoxFuture<'a, Result<Process, String>> {
        Box::pin(async move {
            let bench = self.workbench()?;
            let policy = bench.program_policy();
            let job = server_program::program(&policy, server, program, Phase::Run, first_sight)?;
            let masks = shared_masks(bench).await?;
            let started = bench.start(&job, &masks).await;
            started.map_err(|error| start_failure(server, program, &error))
        })
    }

    fn prepare<'a>(
        &'a self,
        server: &'a str,
        program: &'a Stdio,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            if program.launcher.is_none() {
                return Ok(());
            }
            let bench = self.workbench()?;
            let policy = bench.program_policy();
            let home = server_program::home(&policy, server)
                .ok_or("its launcher needs a home folder for programs, and there is none")?;
            if launcher::is_fetched(&home, program) {
                return Ok(());
            }
            self.fetch(bench, &policy, server, program).await?;
            launcher::set_fetched(&home, program);
            Ok(())
        })
    }

    fn explain_failed_start(&self, server: &str, program: &Stdio, wrote: &str) -> Option<String> {
        failed_start::explain(server, program, wrote)
    }

    fn program_digest<'a>(&'a self, program: &'a Stdio) -> BoxFuture<'a, Option<String>> {
        let path = self.workbench.as_ref().map(|bench| bench.program_policy().path.clone());
        let program = program.clone();
        Box::pin(async move {
            let digest = move || program_digest::digest(&program, &path.unwrap_or_default());
            tokio::task::spawn_blocking(digest).await.ok()?
        })
    }

    fn watch_call<'a>(
        &'a self,
        program: &'a Stdio,
        call: &'a CallCtx,
    ) -> BoxFuture<'a, Option<Box<dyn CallWatch>>> {
        Box::pin(async move {
            if program.workspace != WorkspaceAccess::Write {
                return None;
            }
            let bench = self.workbench().ok()?;
            let policy = bench.program_policy();
            let job = server_program::program(&policy, "", program, Phase::Run, false).ok()?;
            let masks = shared_masks(bench).await.ok()?;
            let watch = bench.watch_call(&job, &masks, call).await?;
            Some(Box::new(ServerWatch(watch)) as Box<dyn CallWatch>)
        })
    }

    fn ignores_discover<'a>(&'a self, server: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let known = self.facts.value(&silent_key(server)).await;
            known.ok().flatten().is_some_and(|known| !known.is_empty())
        })
    }

    fn remember_ignores_discover<'a>(&'a self, server: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // If this fails, the next start waits for an answer again.
            let _ = self.facts.put_value(&silent_key(server), "1").await;
        })
    }

    fn http(&self) -> HttpClient {
        self.client.clone()
    }

    fn http_for(&self, url: &str) -> HttpClient {
        (self.client_for)(url).unwrap_or_else(|| self.client.clone())
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
            // Another process may have stored the credentials, so mask their values here, too.
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
            // Without a folder for the lock, there is no other process to exclude.
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
                // If this fails, the tools are held for review again when the server connects next.
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

    /// Passes a question in the middle of a call to the MCP client that made the call, if there is
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
