//! Fixtures: a workspace with a program runner, and calls on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_builtins::Builtins;
use toolcrib_builtins::program_runner::{ProgramPolicy, ProgramRunner};
use toolcrib_builtins::shell::{BACKGROUND_IDLE, Shells};
use toolcrib_core::tool::Streams;
use toolcrib_core::{
    ArtifactRef, Block, CallCtx, CallId, CancellationToken, Context, Handler, StreamSink,
    ToolError, ToolOutput,
};
use toolcrib_sandbox::{Level, Local};

/// The executable that creates sandboxes.
pub(crate) const WORKER: &str = env!("CARGO_BIN_EXE_toolcrib-builtins-worker");

/// A workspace `ws`, a home folder for programs, and files in `state` and `out` that no program may
/// access.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
    pub(crate) workbench: Arc<ProgramRunner>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|confines| confines)
    }

    pub(crate) fn with(change: impl FnOnce(ProgramPolicy) -> ProgramPolicy) -> Self {
        Self::at_most(Level::Namespace, change)
    }

    pub(crate) fn at_most(
        level: Level,
        change: impl FnOnce(ProgramPolicy) -> ProgramPolicy,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["ws/.toolcrib", "ws/.git/hooks", "state", "out"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        for (path, text) in
            [("state/key", "SECRET"), ("out/secret", "SECRET"), ("ws/.git/config", "[core]\n")]
        {
            fs::write(folder.path().join(path), text).unwrap();
        }
        let real = folder.path().canonicalize().unwrap();
        let confines = ProgramPolicy {
            home: Some(real.join("home")),
            state_folders: vec![real.join("state")],
            ..ProgramPolicy::new([real.join("ws")])
        };
        let local = Local::with_helper(WORKER).max_level(level);
        let workbench = Arc::new(ProgramRunner::new(Arc::new(local), change(confines)));
        Self { folder, workbench }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }
}

/// Creates a call of this conversation with a time limit of half a minute.
pub(crate) fn call_of(conversation: &str) -> CallCtx {
    CallCtx {
        call: CallId::fresh(),
        run: None,
        context: Arc::new(Context {
            owner: "ann".to_owned(),
            conversation: conversation.to_owned(),
            ..Context::default()
        }),
        view: Arc::default(),
        attempt: 1,
        cancel: CancellationToken::new(),
        deadline: Instant::now() + Duration::from_secs(30),
        streams: Arc::new(Kept),
        path_denials: toolcrib_core::NoPathDenials::shared(),
        approved_hosts: Arc::default(),
    }
}

/// Streams that are stored completely.
struct Kept;

struct Stream(Vec<u8>);

impl Streams for Kept {
    fn open(&self, _: &CallCtx, _: &str) -> Box<dyn StreamSink> {
        Box::new(Stream(Vec::new()))
    }
}

impl StreamSink for Stream {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(self: Box<Self>) -> Block {
        Block::Spilled {
            preview: String::new(),
            media_type: "text/plain".to_owned(),
            total_bytes: self.0.len() as u64,
            // The name contains the number of stored bytes.
            artifact: Some(ArtifactRef(format!("art_{}", self.0.len()))),
        }
    }
}

/// Returns whether this host supports this sandbox level; prints a note if not.
pub(crate) async fn is_here(level: Level) -> bool {
    let best = Bench::new().workbench.level().await.unwrap();
    if best < level {
        eprintln!("NOT TRIED: the level {level}, which this host does not give");
    }
    best >= level
}

/// Returns command lines of running processes that contain this text.
pub(crate) fn processes_with(text: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().into_string().ok());
    pids.filter(|pid| pid.bytes().all(|b| b.is_ascii_digit()) && *pid != own)
        .filter_map(|pid| fs::read(Path::new("/proc").join(pid).join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(text))
        .collect()
}

/// The tools of a bench, called the way the engine calls them.
pub(crate) struct Shop {
    pub(crate) bench: Bench,
    pub(crate) shells: Arc<Shells>,
    tools: Vec<Arc<dyn Handler>>,
}

impl Shop {
    pub(crate) fn new() -> Self {
        Self::on(Bench::new())
    }

    pub(crate) fn on(bench: Bench) -> Self {
        Self::with_idle(bench, BACKGROUND_IDLE)
    }

    /// Creates the same, ending background programs after this idle time.
    pub(crate) fn with_idle(bench: Bench, idle: Duration) -> Self {
        let records = Some(bench.path("state/processes"));
        let shells = Shells::new(Arc::clone(&bench.workbench), records).background_idle(idle);
        let shells = Arc::new(shells);
        let tools = Builtins::new().with_shells(Arc::clone(&shells)).handlers();
        Self { bench, shells, tools }
    }

    pub(crate) async fn call(
        &self,
        tool: &str,
        ctx: &CallCtx,
        args: Value,
    ) -> Result<ToolOutput, ToolError> {
        let tool = self.tools.iter().find(|one| one.spec().name.as_str() == tool).expect(tool);
        tool.assess(&args)?;
        tool.call(ctx, &args).await
    }

    /// Returns the error of a call that must fail.
    pub(crate) async fn fails(&self, tool: &str, conversation: &str, args: Value) -> ToolError {
        let shown = args.to_string();
        self.call(tool, &call_of(conversation), args).await.map(Said).expect_err(&shown)
    }

    /// Runs a command in a conversation.
    pub(crate) async fn sh(&self, conversation: &str, command: &str) -> Said {
        self.with(conversation, json!({"command": command})).await
    }

    pub(crate) async fn with(&self, conversation: &str, args: Value) -> Said {
        let shown = args.to_string();
        let called = self.call("execute_shell_command", &call_of(conversation), args).await;
        Said(called.unwrap_or_else(|error| panic!("{shown}: {error:?}")))
    }

    pub(crate) async fn process(&self, conversation: &str, args: Value) -> Said {
        let shown = args.to_string();
        let called = self.call("manage_process", &call_of(conversation), args).await;
        Said(called.unwrap_or_else(|error| panic!("{shown}: {error:?}")))
    }
}

/// A result.
#[derive(Debug)]
pub(crate) struct Said(pub(crate) ToolOutput);

impl Said {
    pub(crate) fn field(&self, key: &str) -> Value {
        self.0.structured.as_ref().map(|data| data[key].clone()).unwrap_or_default()
    }

    pub(crate) fn str(&self, key: &str) -> String {
        self.field(key).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn out(&self) -> String {
        self.str("stdout")
    }

    /// Returns everything that a model reads.
    pub(crate) fn text(&self) -> String {
        let text = |block: &Block| match block {
            Block::Text { text, .. } | Block::Spilled { preview: text, .. } => text.clone(),
            other => format!("{other:?}"),
        };
        self.0.content.iter().map(text).collect::<Vec<_>>().join("\n")
    }
}

/// Waits until the condition holds; fails the test after 10 seconds.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

/// Returns the folder of an installed program, and the other folders that it needs to run.
pub(crate) fn installed(program: &str) -> Option<(PathBuf, Vec<PathBuf>)> {
    let beside = Path::new(WORKER).ancestors().nth(2).unwrap().join("python/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folder = std::env::split_paths(&path).chain([beside]).find(|folder| {
        // A shim of a version manager can exist although the program is not installed.
        let works = |word: &str| {
            let output = std::process::Command::new(folder.join(program)).arg(word).output();
            output.is_ok_and(|output| output.status.success())
        };
        works("--version") || works("version")
    });
    let Some(folder) = folder else {
        eprintln!("NOT TRIED: {program} is not on this machine");
        return None;
    };
    // Use the real path: a Python environment locates itself relative to its program.
    let folder = folder.canonicalize().ok()?;
    let mut around = vec![folder.clone()];
    let real = folder.join(program).canonicalize().unwrap();
    around.extend(real.ancestors().nth(2).map(Path::to_owned));
    around.extend(folder.parent().map(Path::to_owned));
    // A Python environment depends on another installation.
    if let Ok(python) = folder.join("python3").canonicalize() {
        around.extend(python.ancestors().nth(2).map(Path::to_owned));
    }
    around.retain(|path| path.parent().is_some_and(|parent| parent != Path::new("/")));
    Some((folder, around))
}
