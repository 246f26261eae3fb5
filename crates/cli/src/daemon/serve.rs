//! A daemon from its start to its end.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use toolcrib_app::runner::DeferApproval;
use toolcrib_app::{Settings, Toolcrib};
use toolcrib_sandbox::release_code_pages;
use toolcrib_server::{Daemon, DaemonSettings, Listen, StartError};
use toolcrib_store::{ExclusiveLock, OpenError};

use super::logging::Logs;
use super::paths::DaemonPaths;
use super::server_host::CliHost;
use super::telemetry::TelemetryExport;
use super::{config_watcher, instance, systemd_notify};
use crate::clap_args::{Serve, WorkspaceArgs};
use crate::config::{self, Config, Env};
use crate::output::{self, Failure};
use crate::session::{RunEnvironment, RunSetup};
use crate::{bootstrap, shutdown_signal};

/// Runs a daemon until it is told to stop.
///
/// # Errors
/// Exit code 1 or 3, with advice.
pub(crate) async fn serve(command: &Serve, json: bool) -> Result<u8, Failure> {
    let logs = Logs::start(&command.logging)?;
    let telemetry = TelemetryExport::start()?;
    let setup = RunSetup::new(&command.model_args, &command.workspace_args)?;
    let config = bootstrap::load_config(&setup.workspace_args())?;
    let place = DaemonPaths::current()?;
    let observe = telemetry.observe.clone();
    let settings =
        DaemonSettings { telemetry: observe, ..daemon_settings(command, &config, &place)? };
    let _alone = lock_database()?;
    let instance =
        bootstrap::is_shared()?.then(|| instance::load_or_create(&place.base())).transpose()?;
    let stores = bootstrap::daemon_stores(instance)?;
    let stores = telemetry.observe.instrument_stores(stores);
    let policy = daemon_tool_settings(&setup.workspace_args(), &config)?;
    let ground =
        RunEnvironment::build(setup, policy, &config, stores, Some(Arc::new(DeferApproval)))
            .await?;
    ground.warnings.iter().for_each(|warning| output::warn(warning, json));
    let (toolcrib, runner) = (ground.toolcrib.clone(), ground.runner.clone());
    telemetry.register_secrets(&toolcrib);
    logs.register_secrets(toolcrib.engine().sealing().secrets.clone());
    let told = ReadyMessage { place, listen: settings.listen.clone(), json };
    let host = Arc::new(CliHost::new(ground, config));
    let daemon = Daemon::new(toolcrib.clone(), runner, host.clone(), settings).await?;
    release_code_pages();
    let asked = Arc::new(Notify::new());
    // The task listens for signals until everything has ended: a second one exits at once.
    tokio::spawn(stop_when_asked(daemon.clone(), json));
    let beside = [
        Some(tokio::spawn(forward_sighup(Arc::clone(&asked)))),
        Some(tokio::spawn(config_watcher::reload_on_change(host, asked))),
        systemd_notify::watchdog(&toolcrib),
    ];
    let ready = |address| {
        release_code_pages();
        systemd_notify::ready();
        told.print(address);
    };
    let served = daemon.serve(ready).await;
    beside.into_iter().flatten().for_each(|task| task.abort());
    let ended = shut_down(&toolcrib).await;
    telemetry.shut_down().await;
    served?;
    ended.map(|()| 0)
}

/// Waits for hooks, and releases the claim, so that other processes can take over.
async fn shut_down(toolcrib: &Toolcrib) -> Result<(), Failure> {
    bootstrap::flush_hooks(toolcrib).await;
    let released = toolcrib.engine().release().await;
    released.map_err(|error| Failure::run(error.to_string()))
}

/// Locks the database file for one daemon; a shared database has several, one per machine.
fn lock_database() -> Result<Option<ExclusiveLock>, Failure> {
    if !matches!(bootstrap::StoreKind::from_env()?, bootstrap::StoreKind::InFile) {
        return Ok(None);
    }
    let lock = ExclusiveLock::acquire(&bootstrap::database_path()?);
    lock.map(Some).map_err(|error| {
        let remedy = match error {
            OpenError::InUse { .. } => "; `toolcrib status` asks it",
            _ => "; if it is on a read-only disk, set TOOLCRIB_HOME to a folder that you may write",
        };
        Failure::run(format!("{error}{remedy}"))
    })
}

/// Returns the settings of the tools and their policy for a daemon: questions wait in the inbox
/// without a time limit.
pub(super) fn daemon_tool_settings(
    world: &WorkspaceArgs,
    config: &Config,
) -> Result<Settings, Failure> {
    let mut settings = bootstrap::settings(world, config)?;
    settings.engine.approval_timeout = None;
    settings.links_to_clients = true;
    Ok(settings)
}

/// Returns the settings from the command line, then the section `[server]`, then the defaults.
fn daemon_settings(
    command: &Serve,
    config: &Config,
    place: &DaemonPaths,
) -> Result<DaemonSettings, Failure> {
    let env = Env::from_process();
    let resolved = |path: &std::path::Path| config.resolve_path(path, &env);
    let section = &config.server;
    let default = DaemonSettings::new(place.base());
    let is_open = !command.no_tcp && section.tcp.unwrap_or(true);
    let address = command.listen.or(section.listen.filter(|_| is_open));
    let named = command.tls_cert.clone().zip(command.tls_key.clone());
    let own_words = |said: &[String], written: &[String]| [said, written].concat();
    let listen = Listen {
        tcp: address.or(Some(config::DEFAULT_LISTEN).filter(|_| is_open)),
        unix: command
            .socket
            .clone()
            .or_else(|| section.socket.as_deref().map(resolved))
            .or_else(|| Some(place.socket_path())),
        tls: named.or_else(|| section.tls(resolved)),
        hosts: own_words(&command.host, &section.hosts),
        origins: own_words(&command.origin, &section.origins),
        proxies: [command.trusted_proxy.as_slice(), &section.proxies].concat(),
    };
    Ok(DaemonSettings {
        listen,
        calls_at_once: section.calls_at_once.unwrap_or(default.calls_at_once),
        calls_waiting: section.calls_waiting.unwrap_or(default.calls_waiting),
        runs_at_once: section.runs_at_once.unwrap_or(default.runs_at_once),
        runs_of_client: section.runs_of_client.unwrap_or(default.runs_of_client),
        four_eyes: section.four_eyes.unwrap_or(default.four_eyes),
        store: bootstrap::StoreKind::from_env()?.name(),
        store_is_shared: bootstrap::is_shared()?,
        requests_per_minute: section.requests_per_minute.unwrap_or(default.requests_per_minute),
        failed_logins_per_minute: section
            .failures_per_minute
            .unwrap_or(default.failed_logins_per_minute),
        body_bytes: section.body_bytes.unwrap_or(default.body_bytes),
        drain: section.drain.unwrap_or(default.drain),
        ..default
    })
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self::run(error.to_string())
    }
}

/// The message for people when the daemon is ready.
struct ReadyMessage {
    place: DaemonPaths,
    listen: Listen,
    json: bool,
}

impl ReadyMessage {
    fn print(self, address: Option<SocketAddr>) {
        let scheme = if self.listen.tls.is_some() { "https" } else { "http" };
        let url = address.map(|address| format!("{scheme}://{address}"));
        if self.json {
            let row = json!({
                "ready": true,
                "url": url,
                "socket": self.listen.unix,
                "token_file": self.place.token_file(),
                "pid": std::process::id(),
                "version": env!("CARGO_PKG_VERSION"),
            });
            // The daemon continues if the reader has closed its output.
            let _ = output::print_json(&row, true);
            return;
        }
        let socket = self.listen.unix.map(|path| format!("the socket {}", path.display()));
        let places: Vec<String> = url.into_iter().chain(socket).collect();
        output::eprint_line(&format!(
            "toolcrib: the daemon listens on {}",
            places.join(" and on ")
        ));
        output::eprint_line(
            "toolcrib: `toolcrib token show` prints the token of this machine, `toolcrib token add NAME` makes one for a program",
        );
    }
}

/// On the first signal, running work may end; the second one exits at once.
async fn stop_when_asked(daemon: Daemon, json: bool) {
    if !shutdown_signal::asked_to_stop().await {
        return;
    }
    output::warn(
        "the daemon stops: what runs comes to a step where it can be taken up again",
        json,
    );
    systemd_notify::stopping();
    daemon.stop();
    if shutdown_signal::asked_to_stop().await {
        std::process::exit(shutdown_signal::EXIT_INTERRUPTED);
    }
}

/// Forwards the signal that asks services to reload their configuration.
async fn forward_sighup(asked: Arc<Notify>) {
    let Ok(mut signals) = signal(SignalKind::hangup()) else { return };
    while signals.recv().await.is_some() {
        asked.notify_one();
    }
}
