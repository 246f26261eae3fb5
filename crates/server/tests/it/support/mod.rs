//! A daemon for one test, with separate folders and a separate port; stopped at the end.

mod client;
mod events;
mod host;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tokio::task::JoinHandle;
use toolcrib_agent::context::{CompactionRules, ContextWindows, Prices};
use toolcrib_agent::library::{Folder, Folders, Scope};
use toolcrib_app::runner::{DeferApproval, Runner, RunnerSettings};
use toolcrib_app::{Settings, Stores, Toolcrib};
use toolcrib_server::{Daemon, DaemonAddress, DaemonSettings, Telemetry};

pub(crate) use client::{Answer, Client};
pub(crate) use events::Events;
pub(crate) use host::TestHost;

/// The setup of a daemon in a test.
pub(crate) struct Plan {
    /// Script of the model (docs/scripted.md); each run starts it from the beginning.
    pub(crate) script: String,
    /// Changes the settings of the Toolcrib.
    pub(crate) toolcrib: Box<dyn FnOnce(&mut Settings) + Send>,
    /// Extends the builder.
    pub(crate) builder: Box<dyn FnOnce(toolcrib_app::Builder) -> toolcrib_app::Builder + Send>,
    /// Changes the settings of the daemon.
    pub(crate) daemon: Box<dyn FnOnce(&mut DaemonSettings) + Send>,
    /// Whether the store is a database file (`true`) or in memory.
    pub(crate) durable: bool,
    /// Target of metrics and spans.
    pub(crate) observe: Telemetry,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            script: "turns:\n  - say: Hello.\n".to_owned(),
            toolcrib: Box::new(|_| ()),
            builder: Box::new(|builder| builder),
            daemon: Box::new(|_| ()),
            durable: false,
            observe: Telemetry::default(),
        }
    }
}

/// A daemon that listens on loopback and on a socket.
pub(crate) struct TestDaemon {
    folder: Arc<TempDir>,
    own: PathBuf,
    pub(crate) daemon: Daemon,
    pub(crate) toolcrib: Toolcrib,
    pub(crate) runner: Runner,
    pub(crate) host: Arc<TestHost>,
    pub(crate) address: SocketAddr,
    serving: JoinHandle<()>,
}

impl TestDaemon {
    pub(crate) async fn start() -> Self {
        Self::with(Plan::default()).await
    }

    pub(crate) async fn with(plan: Plan) -> Self {
        Self::in_folder(Arc::new(tempfile::tempdir().unwrap()), plan).await
    }

    /// Starts a daemon in the folders of another one, as after a restart.
    pub(crate) async fn in_folder(folder: Arc<TempDir>, plan: Plan) -> Self {
        let workspace = folder.path().join("workspace");
        std::fs::create_dir_all(&workspace).unwrap();
        let state = folder.path().join("state");
        std::fs::create_dir_all(&state).unwrap();
        let mut settings = Settings::new(&workspace, &state);
        settings.engine.inbox = true;
        (plan.toolcrib)(&mut settings);
        let database = plan.durable.then(|| state.join("toolcrib.db"));
        let (observe, configured) = (plan.observe, settings.clone());
        let stores = observe.instrument_stores(Stores::open(database.as_deref()).unwrap());
        let builder = Toolcrib::builder(settings)
            .for_agents()
            .stores(stores)
            .approver(Arc::new(DeferApproval));
        let toolcrib = (plan.builder)(builder).build().await.unwrap();
        let runner =
            Runner::new(toolcrib.clone(), runner_settings(&workspace, folder.path())).unwrap();
        let own = own_folder(&state);
        let mut settings = DaemonSettings::new(&own);
        settings.telemetry = observe;
        settings.listen.unix = Some(own.join("socket"));
        (plan.daemon)(&mut settings);
        let host = Arc::new(TestHost::new(
            runner.clone(),
            plan.script,
            folder.path().to_owned(),
            (toolcrib.clone(), configured),
        ));
        let daemon =
            Daemon::new(toolcrib.clone(), runner.clone(), host.clone(), settings).await.unwrap();
        let (send, receive) = tokio::sync::oneshot::channel();
        let serving = tokio::spawn({
            let daemon = daemon.clone();
            async move {
                daemon.serve(|address| send.send(address).unwrap()).await.unwrap();
            }
        });
        let address = receive.await.unwrap().unwrap();
        Self { folder, own, daemon, toolcrib, runner, host, address, serving }
    }

    /// Stops it and waits until it has drained; its folders remain for the next daemon.
    pub(crate) async fn stop(self) -> Arc<TempDir> {
        self.daemon.stop();
        self.serving.await.unwrap();
        self.toolcrib.engine().release().await.unwrap();
        self.folder
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns its folders, for another daemon beside it.
    pub(crate) fn shared(&self) -> Arc<TempDir> {
        Arc::clone(&self.folder)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.own.join("socket")
    }

    /// Returns the folder with its token and its sessions.
    pub(crate) fn own(&self) -> &Path {
        &self.own
    }

    /// Returns the token of the owner.
    pub(crate) fn token(&self) -> String {
        std::fs::read_to_string(self.own.join("token")).unwrap().trim().to_owned()
    }

    /// Returns a client with the token of the owner.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.address).with_token(&self.token())
    }

    /// Returns a client without a token.
    pub(crate) fn anybody(&self) -> Client {
        Client::new(self.address)
    }
}

/// Returns the first folder that no running daemon uses: several may share one database.
fn own_folder(state: &Path) -> PathBuf {
    let folders = std::iter::once("daemon".to_owned()).chain((2..).map(|n| format!("daemon-{n}")));
    let mut free = folders.map(|name| state.join(name));
    free.find(|folder| DaemonAddress::read(folder).unwrap().is_none()).unwrap()
}

fn runner_settings(workspace: &Path, folder: &Path) -> RunnerSettings {
    let agents = Folder { scope: Scope::User, path: folder.join("config/agents") };
    RunnerSettings {
        folders: Folders { agents: vec![agents], ..Folders::default() },
        workspace: Some(workspace.to_owned()),
        windows: Arc::new(ContextWindows::builtin().unwrap()),
        prices: Arc::new(Prices::builtin().unwrap()),
        compaction: CompactionRules::default(),
    }
}
