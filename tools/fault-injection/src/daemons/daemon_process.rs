//! A daemon of the trial: the real one, over a Postgres that it shares with the others, as if on a
//! machine of its own.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_agent::context::{CompactionRules, ContextWindows, Prices};
use toolcrib_agent::library::Folders;
use toolcrib_app::runner::{DeferApproval, Runner, RunnerSettings};
use toolcrib_app::{EngineSettings, Settings, Stores, Toolcrib};
use toolcrib_server::{Daemon, DaemonSettings};
use toolcrib_store::SharedOptions;

use super::scripted_host::ScriptedHost;
use super::test_tools;
use crate::error::Result;

/// Threads of a daemon.
const THREADS: usize = 2;
/// How long its calls and runs may go on after it was told to stop.
const DRAIN: Duration = Duration::from_secs(2);
/// More than any client of the trial sends.
const REQUESTS: u32 = 10_000_000;

/// What a daemon is told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DaemonConfig {
    /// The database.
    pub(super) url: String,
    /// Its own folder.
    pub(super) state: PathBuf,
    /// Where all of them write down what their tools did.
    pub(super) ledger: PathBuf,
    /// Which process this is.
    pub(super) incarnation: u32,
}

/// The folder of a daemon's own files in its state folder.
pub(super) fn own_folder(state: &std::path::Path) -> PathBuf {
    state.join("daemon")
}

/// Says `ready ADDRESS` once it answers, and works until its input ends.
pub(crate) fn main(orders: &str) -> ExitCode {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    let done = serde_json::from_str(orders)
        .map_err(Into::into)
        .and_then(|orders| runtime?.block_on(serve(orders)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("daemon: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(orders: DaemonConfig) -> Result<()> {
    let stores = Stores::connect(&orders.url, &orders.state, SharedOptions::default()).await?;
    let settings = Settings {
        roots: Vec::new(),
        engine: EngineSettings { approval_timeout: None, inbox: true, ..EngineSettings::default() },
        ..Settings::new(&orders.state, &orders.state)
    };
    let toolcrib = Toolcrib::builder(settings)
        .for_agents()
        .stores(stores)
        .approver(Arc::new(DeferApproval))
        .source(test_tools::source(&orders.ledger, orders.incarnation)?)
        .build()
        .await?;
    let runner = RunnerSettings {
        folders: Folders::default(),
        workspace: None,
        windows: Arc::new(ContextWindows::builtin()?),
        prices: Arc::new(Prices::builtin()?),
        compaction: CompactionRules::default(),
    };
    let runner = Runner::new(toolcrib.clone(), runner)?;
    let host = ScriptedHost { runner: runner.clone(), folder: orders.state.clone() };
    let settings = DaemonSettings {
        requests_per_minute: REQUESTS,
        drain: DRAIN,
        store: "postgres",
        ..DaemonSettings::new(own_folder(&orders.state))
    };
    let daemon = Daemon::new(toolcrib.clone(), runner, Arc::new(host), settings).await?;
    let stops = daemon.clone();
    std::thread::spawn(move || {
        // It prints nothing: it ends when it is stopped, and with the process that started it.
        let _ = std::io::stdin().read(&mut [0]);
        stops.stop();
    });
    daemon
        .serve(|address| {
            if let Some(address) = address {
                println!("ready {address}");
            }
        })
        .await?;
    toolcrib.engine().release().await?;
    Ok(())
}
