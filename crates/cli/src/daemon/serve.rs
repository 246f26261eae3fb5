//! A daemon from its start to its end.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use toolcrib_app::runner::AskLater;
use toolcrib_app::sandbox::let_go_of_code;
use toolcrib_app::store::ExclusiveLock;
use toolcrib_app::{Settings, Toolcrib};
use toolcrib_server::{Daemon, DaemonSettings, Listen, StartError};

use super::host::CliHost;
use super::logs::Logs;
use super::place::Place;
use super::telemetry::Telemetry;
use super::{notify, watch};
use crate::cli::{Serve, World};
use crate::config::{self, Config, Env};
use crate::output::{self, Failure};
use crate::session::{Ground, Setup};
use crate::{interrupt, world};

/// Serves until it is told to stop.
///
/// # Errors
/// Exit code 1 or 3, with what to do.
pub(crate) async fn serve(command: &Serve, json: bool) -> Result<u8, Failure> {
    let logs = Logs::begin(&command.logging)?;
    let telemetry = Telemetry::begin()?;
    let setup = Setup::new(&command.brain, &command.world)?;
    let config = world::configured(&setup.world())?;
    let place = Place::own()?;
    let observe = telemetry.observe.clone();
    let settings = DaemonSettings { observe, ..daemon_settings(command, &config, &place)? };
    let _alone = alone()?;
    let stores = telemetry.observe.of_calls(world::stores()?);
    let policy = policy(&setup.world(), &config)?;
    let ground = Ground::lay(setup, policy, &config, stores, Some(Arc::new(AskLater))).await?;
    ground.warnings.iter().for_each(|warning| output::remark(warning, json));
    let (toolcrib, runner) = (ground.toolcrib.clone(), ground.runner.clone());
    telemetry.hide(&toolcrib);
    logs.mask(toolcrib.engine().sealing().secrets.clone());
    let told = Told { place, listen: settings.listen.clone(), json };
    let host = Arc::new(CliHost::new(ground, config));
    let daemon = Daemon::new(toolcrib.clone(), runner, host.clone(), settings).await?;
    let_go_of_code();
    let asked = Arc::new(Notify::new());
    // Heard until everything has ended: the second one leaves.
    tokio::spawn(stop_when_asked(daemon.clone(), json));
    let beside = [
        Some(tokio::spawn(hang_ups(Arc::clone(&asked)))),
        Some(tokio::spawn(watch::reload(host, asked))),
        notify::watchdog(&toolcrib),
    ];
    let ready = |address| {
        let_go_of_code();
        notify::ready();
        told.ready(address);
    };
    let served = daemon.serve(ready).await;
    beside.into_iter().flatten().for_each(|task| task.abort());
    let ended = end(&toolcrib).await;
    telemetry.end().await;
    served?;
    ended.map(|()| 0)
}

/// Everybody has heard of everything, and others may take up what is left.
async fn end(toolcrib: &Toolcrib) -> Result<(), Failure> {
    world::settle(toolcrib).await;
    let released = toolcrib.engine().release().await;
    released.map_err(|error| Failure::run(error.to_string()))
}

/// One daemon on a database file; those on a shared database are as many as there are machines.
fn alone() -> Result<Option<ExclusiveLock>, Failure> {
    if !matches!(world::Kept::now()?, world::Kept::InFile) {
        return Ok(None);
    }
    let lock = ExclusiveLock::hold(&world::database()?);
    lock.map(Some).map_err(|error| Failure::run(format!("{error}; `toolcrib status` asks it")))
}

/// Settings of the tools and their policy, for a daemon: whoever has to be asked is asked in the inbox, for as long as it takes.
pub(super) fn policy(world: &World, config: &Config) -> Result<Settings, Failure> {
    let mut settings = world::settings(world, config)?;
    settings.engine.approval_timeout = None;
    Ok(settings)
}

/// The words of the command line, then the section `[server]`, then the defaults.
fn daemon_settings(
    command: &Serve,
    config: &Config,
    place: &Place,
) -> Result<DaemonSettings, Failure> {
    let env = Env::of_process();
    let resolved = |path: &std::path::Path| config.resolved(path, &env);
    let section = &config.server;
    let default = DaemonSettings::new(place.folder());
    let is_open = !command.no_tcp && section.tcp.unwrap_or(true);
    let address = command.listen.or(section.listen.filter(|_| is_open));
    let named = command.tls_cert.clone().zip(command.tls_key.clone());
    let own_words = |said: &[String], written: &[String]| [said, written].concat();
    let listen = Listen {
        tcp: address.or(Some(config::LISTEN).filter(|_| is_open)),
        unix: command
            .socket
            .clone()
            .or_else(|| section.socket.as_deref().map(resolved))
            .or_else(|| Some(place.socket())),
        tls: named.or_else(|| section.tls(resolved)),
        hosts: own_words(&command.host, &section.hosts),
        origins: own_words(&command.origin, &section.origins),
        proxies: [command.behind_proxy.as_slice(), &section.proxies].concat(),
    };
    Ok(DaemonSettings {
        listen,
        calls_at_once: section.calls_at_once.unwrap_or(default.calls_at_once),
        calls_waiting: section.calls_waiting.unwrap_or(default.calls_waiting),
        runs_at_once: section.runs_at_once.unwrap_or(default.runs_at_once),
        runs_of_client: section.runs_of_client.unwrap_or(default.runs_of_client),
        four_eyes: section.four_eyes.unwrap_or(default.four_eyes),
        store: world::Kept::now()?.kind(),
        requests_per_minute: section.requests_per_minute.unwrap_or(default.requests_per_minute),
        failures_per_minute: section.failures_per_minute.unwrap_or(default.failures_per_minute),
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

/// What people are told when it answers.
struct Told {
    place: Place,
    listen: Listen,
    json: bool,
}

impl Told {
    fn ready(self, address: Option<SocketAddr>) {
        let scheme = if self.listen.tls.is_some() { "https" } else { "http" };
        let url = address.map(|address| format!("{scheme}://{address}"));
        if self.json {
            let row = json!({
                "ready": true,
                "url": url,
                "socket": self.listen.unix,
                "token_file": self.place.token(),
                "pid": std::process::id(),
                "version": env!("CARGO_PKG_VERSION"),
            });
            // A reader that went away does not stop the daemon.
            let _ = output::document(&row, true);
            return;
        }
        let socket = self.listen.unix.map(|path| format!("the socket {}", path.display()));
        let places: Vec<String> = url.into_iter().chain(socket).collect();
        output::note(&format!("toolcrib: the daemon listens on {}", places.join(" and on ")));
        output::note(
            "toolcrib: `toolcrib token show` prints the token of this machine, `toolcrib token add NAME` makes one for a program",
        );
    }
}

/// The first signal lets what runs come to an end, the second one leaves.
async fn stop_when_asked(daemon: Daemon, json: bool) {
    if !interrupt::asked_to_stop().await {
        return;
    }
    output::remark(
        "the daemon stops: what runs comes to a step where it can be taken up again",
        json,
    );
    notify::stopping();
    daemon.stop();
    if interrupt::asked_to_stop().await {
        std::process::exit(interrupt::INTERRUPTED);
    }
}

/// The signal that asks services to read their configuration again.
async fn hang_ups(asked: Arc<Notify>) {
    let Ok(mut signals) = signal(SignalKind::hangup()) else { return };
    while signals.recv().await.is_some() {
        asked.notify_one();
    }
}
