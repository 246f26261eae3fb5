//! Test fixture: a workspace, objects outside of it, and a search for leftover processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use toolcrib_sandbox::process::{Limits, Report};
use toolcrib_sandbox::{Backend, Job, JobResult, Level, Local, Policy, SandboxError, run};

/// The executable that acts as helper and as hostile program.
pub(crate) const WORKER: &str = env!("CARGO_BIN_EXE_toolcrib-sandbox-worker");

/// The tested levels.
pub(crate) const LEVELS: [Level; 2] = [Level::Namespace, Level::Reduced];

/// Variable that declares a host without user namespaces as expected.
const KNOWN_LACK: &str = "TOOLCRIB_TEST_WITHOUT_NAMESPACES";

pub(crate) fn local(level: Level) -> Local {
    Local::with_helper(WORKER).max_level(level)
}

/// Returns whether a level can be tested here. A host without namespaces fails the suite, unless
/// the variable declares it.
pub(crate) async fn is_here(level: Level) -> bool {
    let probe = local(Level::Namespace).probe().await;
    if probe.strongest >= level {
        return true;
    }
    let known = std::env::var_os(KNOWN_LACK).is_some() && level == Level::Namespace;
    assert!(
        known,
        "this host gives no level {level}; set {KNOWN_LACK}=1 if that is known: {probe:#?}"
    );
    eprintln!("NOT TRIED: the level {level}, which this host does not give: {:?}", probe.features);
    false
}

pub(crate) struct World {
    folder: tempfile::TempDir,
    /// An argument that no other process has.
    pub(crate) marker: String,
}

impl World {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let marker = format!("86399.{}{number:03}", std::process::id());
        let world = Self { folder: tempfile::tempdir().unwrap(), marker };
        for folder in ["ws/src", "ws/.denied", "ws/.toolcrib", "out"] {
            fs::create_dir_all(world.path(folder)).unwrap();
        }
        for (path, text) in [
            ("out/secret", "SECRET"),
            ("ws/.denied/key", "SECRET"),
            ("ws/.env", "SECRET"),
            ("ws/.toolcrib/config.toml", "kept"),
            ("ws/src/main", "main"),
        ] {
            fs::write(world.path(path), text).unwrap();
        }
        world
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn policy(&self) -> Policy {
        Policy {
            readable: vec![WORKER.into(), self.path("ws/.toolcrib")],
            writable: vec![self.path("ws")],
            denied: vec![self.path("ws/.denied"), self.path("ws/.env")],
            ..Policy::default()
        }
    }

    /// Creates a job for a shell script in the workspace, with the fixture's paths in variables.
    pub(crate) fn script(&self, policy: Policy, script: &str) -> Job {
        Job::new("sh", policy)
            .args(["-c", script])
            .folder(self.path("ws"))
            .env("WS", self.path("ws"))
            .env("OUT", self.path("out"))
            .env("WORKER", WORKER)
            .env("MARK", &self.marker)
            .env("HOSTPID", std::process::id().to_string())
    }

    pub(crate) async fn sh(&self, level: Level, policy: Policy, script: &str) -> Done {
        let (report, ended) = self.try_sh(level, policy, script).await.unwrap();
        Done { report, ended }
    }

    pub(crate) async fn try_sh(
        &self,
        level: Level,
        policy: Policy,
        script: &str,
    ) -> Result<(Report, JobResult), SandboxError> {
        let job = self.script(policy, script);
        let limits = Limits { time: Duration::from_secs(60), ..Limits::default() };
        run(&local(level), &job, b"", limits, std::future::pending()).await
    }

    /// Returns the host's processes with the marker.
    pub(crate) fn left(&self) -> Vec<String> {
        processes_with(&self.marker)
    }
}

/// Returns the command lines of running processes that contain this text; zombies have none.
pub(crate) fn processes_with(text: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().into_string().ok());
    pids.filter(|pid| pid.bytes().all(|b| b.is_ascii_digit()) && *pid != own)
        .filter_map(|pid| {
            Some((fs::read(Path::new("/proc").join(&pid).join("cmdline")).ok()?, pid))
        })
        .map(|(line, pid)| format!("{pid}: {}", String::from_utf8_lossy(&line).replace('\0', " ")))
        .filter(|line| line.contains(text))
        .collect()
}

/// Waits for a condition; fails if it does not become true.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

pub(crate) struct Done {
    pub(crate) report: Report,
    pub(crate) ended: JobResult,
}

impl Done {
    pub(crate) fn out(&self) -> String {
        self.report.stdout.text().into_owned()
    }

    pub(crate) fn err(&self) -> String {
        self.report.stderr.text().into_owned()
    }
}
