//! Fixtures: the server process in a sandbox, an engine, and a host with in-memory storage.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use serde_json::Value;
use toolcrib_core::{
    Batch, BoxFuture, Call, CallCtx, CallId, Catalog, Invoker as _, Origin, Outcome, RawArgs,
};
use toolcrib_engine::{Engine, EngineSettings, Policy, Preset};
use toolcrib_mcp::client::{
    ClientHost, Connection, Elicitation, Elicited, McpSource, Remote, ReviewedTools, ServerConfig,
    ServerName, Stdio,
};
use toolcrib_net::{AddressPolicy, HttpClient};
use toolcrib_sandbox::{self as sandbox, Backend as _, Job, Local, Process};

const WORKER: &str = env!("CARGO_BIN_EXE_toolcrib-mcp-worker");

/// A host that stores everything in memory.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) pins: Mutex<Option<ReviewedTools>>,
    pub(crate) progress: Mutex<Vec<f64>>,
    /// For each start, whether it was before the first review.
    pub(crate) first_sights: Mutex<Vec<bool>>,
    seen: Mutex<Option<ReviewedTools>>,
    silent: Mutex<bool>,
    pub(crate) asked: Mutex<Vec<String>>,
    /// The calls of those questions.
    pub(crate) asked_for: Mutex<Vec<CallId>>,
    pub(crate) authorization: Mutex<Option<String>>,
    folder: PathBuf,
    /// Kept alive, because its processes end with it.
    backend: OnceLock<Local>,
    attached: OnceLock<(Weak<Connection>, Arc<dyn Catalog>)>,
}

impl ClientHost for Memory {
    fn start<'a>(
        &'a self,
        _: &'a str,
        program: &'a Stdio,
        first_sight: bool,
    ) -> BoxFuture<'a, Result<Process, String>> {
        self.first_sights.lock().unwrap().push(first_sight);
        Box::pin(async move {
            let policy = sandbox::Policy {
                writable: vec![self.folder.clone()],
                readable: vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")],
                ..sandbox::Policy::default()
            };
            let mut job = Job::new(&program.command, policy).args(&program.args);
            job.stdin = sandbox::Stdin::Piped;
            for (name, value) in &program.env {
                job = job.env(name, value);
            }
            let backend = self.backend.get_or_init(|| Local::with_helper(WORKER));
            backend.start(&job).await.map_err(|error| error.to_string())
        })
    }

    fn http(&self) -> HttpClient {
        HttpClient::new(AddressPolicy::with_allowed(["127.0.0.0/8"]).unwrap())
    }

    fn secret(&self, name: &str) -> Result<String, String> {
        if name == "known" {
            Ok("value-of-it".to_owned())
        } else {
            Err(format!("no secret {name}"))
        }
    }

    fn authorization<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(self.authorization.lock().unwrap().clone()))
    }

    fn store_authorization<'a>(
        &'a self,
        _: &'a str,
        text: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), String>> {
        *self.authorization.lock().unwrap() = text.map(str::to_owned);
        Box::pin(std::future::ready(Ok(())))
    }

    fn reviewed_tools<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<ReviewedTools>> {
        Box::pin(std::future::ready(self.pins.lock().unwrap().clone()))
    }

    fn store_reviewed_tools<'a>(
        &'a self,
        _: &'a str,
        pins: &'a ReviewedTools,
    ) -> BoxFuture<'a, Result<(), String>> {
        *self.pins.lock().unwrap() = Some(pins.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn seen_tools<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<ReviewedTools>> {
        Box::pin(std::future::ready(self.seen.lock().unwrap().clone()))
    }

    fn store_seen_tools<'a>(
        &'a self,
        _: &'a str,
        seen: Option<&'a ReviewedTools>,
    ) -> BoxFuture<'a, ()> {
        *self.seen.lock().unwrap() = seen.cloned();
        Box::pin(std::future::ready(()))
    }

    fn ignores_discover<'a>(&'a self, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(*self.silent.lock().unwrap()))
    }

    fn remember_ignores_discover<'a>(&'a self, _: &'a str) -> BoxFuture<'a, ()> {
        *self.silent.lock().unwrap() = true;
        Box::pin(std::future::ready(()))
    }

    fn tools_changed(&self, _: &str) {
        let Some((connection, catalog)) = self.attached.get() else { return };
        let Some(connection) = connection.upgrade() else { return };
        let catalog = Arc::clone(catalog);
        tokio::spawn(async move { catalog.attach(&McpSource::new(connection)).await });
    }

    fn ask<'a>(&'a self, call: &'a CallCtx, question: Elicitation) -> BoxFuture<'a, Elicited> {
        self.asked.lock().unwrap().push(question.message);
        self.asked_for.lock().unwrap().push(call.call);
        let content = serde_json::json!({"name": "Ada"});
        Box::pin(std::future::ready(Elicited::Accept(Some(content))))
    }

    fn progress(&self, _: &CallCtx, done: f64, _: Option<f64>, _: Option<String>) {
        self.progress.lock().unwrap().push(done);
    }
}

/// A server, and the backend of its tools.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) connection: Arc<Connection>,
    pub(crate) host: Arc<Memory>,
    pub(crate) folder: tempfile::TempDir,
}

/// Creates an engine on which calls of high risk run without approval.
pub(crate) fn engine() -> Engine {
    let settings = EngineSettings { preset: Preset::Auto, ..EngineSettings::default() };
    Engine::builder().policy(Policy { settings, ..Policy::default() }).build()
}

/// Creates the fixture; `files` exist before it starts, `change` changes the configuration. `None`
/// if this machine has no python.
pub(crate) async fn world(
    files: &[(&str, &str)],
    change: impl FnOnce(&mut ServerConfig),
) -> Option<World> {
    world_of("server.py", files, change).await
}

/// Creates the same with another server of the fixtures.
pub(crate) async fn world_of(
    server: &str,
    files: &[(&str, &str)],
    change: impl FnOnce(&mut ServerConfig),
) -> Option<World> {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixture").join(server);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let program = Stdio {
        command: "python3".to_owned(),
        args: vec![text(&script), text(folder.path())],
        ..Stdio::default()
    };
    let mut config = ServerConfig::new(ServerName::new("fx").unwrap(), Remote::Stdio(program));
    change(&mut config);
    let host = Arc::new(Memory { folder: folder.path().to_owned(), ..Memory::default() });
    let connection = Connection::new(config, Arc::clone(&host) as Arc<dyn ClientHost>);
    let engine = engine();
    let attached = (Arc::downgrade(&connection), engine.shared_catalog());
    assert!(host.attached.set(attached).is_ok());
    // The owner reviews it; then it is restarted and its tools are offered.
    if connection.accept_reviews().await.is_ok() {
        std::fs::remove_file(folder.path().join("calls")).unwrap();
        connection.connect().await.unwrap();
    }
    engine.catalog().attach(&McpSource::new(Arc::clone(&connection))).await.unwrap();
    Some(World { engine, connection, host, folder })
}

impl World {
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Outcome {
        let call = Call::new(format!("fx__{tool}"), RawArgs::Value(args));
        let answers = self.engine.invoke(Batch::new(Origin::Model, vec![call])).await;
        answers[0].outcome().unwrap().clone()
    }

    /// Returns the calls that the fixture received, with its starts.
    pub(crate) fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
