//! The daemon that is measured: this program in another role, with tools that do as little as can
//! be.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_agent::context::{CompactionRules, ContextWindows, Prices};
use toolcrib_agent::library::{Agent, Folders};
use toolcrib_app::runner::{Runner, RunnerSettings, StartRequest};
use toolcrib_app::{Settings, Toolcrib};
use toolcrib_core::{Batch, Call, Invoker as _, Origin, ToolOutput};
use toolcrib_core::{BoxFuture, StoredRun};
use toolcrib_engine::Engine;
use toolcrib_server::{
    Daemon, DaemonHost, DaemonSettings, HostError, Reloaded, RunRequest, SettingRow,
};
use toolcrib_testkit::{ScriptedTool, fixed_source};

use super::minimal_client::Connection;

/// The word that makes this program the daemon.
pub(crate) const ROLE: &str = "--rest-daemon";

/// Tools that a call of the load uses: `number` and `slow` answer the number they were given, and
/// `ran` says how often they ran.
fn tools() -> impl toolcrib_core::Source {
    let ran = Arc::new(AtomicU64::new(0));
    let number = |name: &str, time: Duration| {
        let ran = Arc::clone(&ran);
        ScriptedTool::new(name).does(move |_, args: &Value| {
            ran.fetch_add(1, Ordering::Relaxed);
            let n = args["n"].to_string();
            Box::pin(async move {
                if !time.is_zero() {
                    tokio::time::sleep(time).await;
                }
                Ok(ToolOutput::text(n))
            })
        })
    };
    let counted = Arc::clone(&ran);
    let said = ScriptedTool::new("ran").does(move |_, _| {
        let ran = counted.load(Ordering::Relaxed).to_string();
        Box::pin(std::future::ready(Ok(ToolOutput::text(ran))))
    });
    let quick = number("number", Duration::ZERO);
    let slow = number("slow", Duration::from_secs(1));
    let tools = [quick, slow, said, ScriptedTool::new("find")].map(Arc::new);
    fixed_source("bench", &tools.each_ref())
}

/// This program as the daemon: says where it listens and its token, and ends with its input.
pub(crate) fn serve() {
    toolcrib_server::runtime().expect("a runtime").block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let daemon = daemon(folder.path().to_owned()).await;
        let token = folder.path().join("daemon/token");
        daemon
            .serve(|address| {
                let token = std::fs::read_to_string(token).expect("a token");
                println!("{} {}", address.expect("an address"), token.trim());
                std::io::stdout().flush().expect("an output");
            })
            .await
            .expect("a daemon that serves");
    });
}

async fn daemon(folder: PathBuf) -> Daemon {
    let mut settings = Settings::new(&folder, folder.join("state"));
    settings.roots.clear();
    let toolcrib = Toolcrib::builder(settings).for_agents().source(tools()).build().await;
    let toolcrib = toolcrib.expect("a toolcrib");
    let settings = RunnerSettings {
        folders: Folders::default(),
        workspace: None,
        windows: Arc::new(ContextWindows::builtin().expect("windows")),
        prices: Arc::new(Prices::builtin().expect("prices")),
        compaction: CompactionRules::default(),
    };
    let runner = Runner::new(toolcrib.clone(), settings).expect("a runner");
    let mut settings = DaemonSettings::new(folder.join("daemon"));
    settings.requests_per_minute = 0;
    Daemon::new(toolcrib, runner, Arc::new(NoModels), settings).await.expect("a daemon")
}

/// The daemon as another process.
pub(super) struct DaemonProcess {
    child: Child,
    pub(super) address: String,
    pub(super) token: String,
}

pub(super) fn start() -> DaemonProcess {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .arg(ROLE)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut line = String::new();
    let out = child.stdout.as_mut().expect("its output");
    BufReader::new(out).read_line(&mut line).expect("a line");
    let (address, token) = line.trim().split_once(' ').expect("an address and a token");
    DaemonProcess { address: address.to_owned(), token: token.to_owned(), child }
}

impl DaemonProcess {
    /// A field of `/proc/PID/status`, in KB.
    pub(super) fn memory_kb(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or_default()
    }

    /// The token of another client.
    pub(super) async fn token_of(&self, name: &str) -> String {
        let mut connection = Connection::open(&self.address, &self.token).await;
        let body = json!({"name": name, "roles": ["caller"]});
        let (status, made) = connection.post("/api/v1/tokens", &body).await;
        assert_eq!(status, 201, "{made}");
        made["token"].as_str().expect("a token").to_owned()
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The pipeline with the same tools, without HTTP.
pub(super) struct DirectEngine {
    engine: Engine,
}

pub(super) async fn direct_engine() -> DirectEngine {
    let engine = Engine::builder().build();
    engine.catalog().attach(&tools()).await.expect("a source that loads");
    DirectEngine { engine }
}

impl DirectEngine {
    pub(super) async fn call(&self, body: &Value) {
        let call = Call::new(body["tool"].as_str().unwrap_or_default(), body["arguments"].clone());
        let answers = self.engine.invoke(Batch::new(Origin::Rest, vec![call])).await;
        assert!(answers[0].outcome().is_some_and(|outcome| outcome.result.is_ok()));
    }
}

/// A program around the daemon that has no models: nothing is run here but calls.
struct NoModels;

fn none<T>() -> Result<T, HostError> {
    Err(HostError::NotFound("there are no models here".to_owned()))
}

impl DaemonHost for NoModels {
    fn prepare_run(&self, _: RunRequest) -> BoxFuture<'_, Result<StartRequest, HostError>> {
        Box::pin(std::future::ready(none()))
    }
    fn prepare_resume<'a>(
        &'a self,
        _: &'a StoredRun,
    ) -> BoxFuture<'a, Result<StartRequest, HostError>> {
        Box::pin(std::future::ready(none()))
    }
    fn models(&self) -> Vec<String> {
        Vec::new()
    }
    fn test_model<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), HostError>> {
        Box::pin(std::future::ready(none()))
    }
    fn default_agent(&self) -> Result<Agent, HostError> {
        none()
    }
    fn settings(&self) -> Result<Vec<SettingRow>, HostError> {
        Ok(Vec::new())
    }
    fn set_setting(&self, _: &str, _: Option<&str>) -> Result<(), HostError> {
        none()
    }
    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, HostError>> {
        Box::pin(std::future::ready(Ok(Reloaded::default())))
    }
    fn rules_file(&self) -> PathBuf {
        PathBuf::new()
    }
    fn agents_folder(&self) -> PathBuf {
        PathBuf::new()
    }
}
