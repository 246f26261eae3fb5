//! A workspace with a bench for programs, and calls on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolcrib_builtins::workbench::{Confines, Workbench};
use toolcrib_core::tool::Streams;
use toolcrib_core::{Block, CallCtx, CallId, CancellationToken, Context, StreamSink};
use toolcrib_sandbox::{Level, Local};

/// The executable that makes sandboxes.
pub(crate) const WORKER: &str = env!("CARGO_BIN_EXE_toolcrib-builtins-worker");

/// A workspace `ws`, a home folder for programs, and things that no program may touch in `state` and `out`.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
    pub(crate) workbench: Arc<Workbench>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|confines| confines)
    }

    pub(crate) fn with(change: impl FnOnce(Confines) -> Confines) -> Self {
        Self::at_most(Level::Namespace, change)
    }

    pub(crate) fn at_most(level: Level, change: impl FnOnce(Confines) -> Confines) -> Self {
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
        let confines = Confines {
            home: Some(real.join("home")),
            own: vec![real.join("state")],
            ..Confines::new([real.join("ws")])
        };
        let local = Local::with_helper(WORKER).at_most(level);
        let workbench = Arc::new(Workbench::new(Arc::new(local), change(confines)));
        Self { folder, workbench }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }
}

/// A call of this conversation with half a minute to go.
pub(crate) fn call_of(conversation: &str) -> CallCtx {
    CallCtx {
        call: CallId::fresh(),
        run: None,
        context: Arc::new(Context {
            owner: "ann".to_owned(),
            conversation: conversation.to_owned(),
            ..Context::default()
        }),
        attempt: 1,
        cancel: CancellationToken::new(),
        deadline: Instant::now() + Duration::from_secs(30),
        streams: Arc::new(Kept),
    }
}

/// Streams that are kept whole.
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
        Block::text(String::from_utf8_lossy(&self.0))
    }
}

/// Whether the sandbox of this host has this level; says so where it has not.
pub(crate) async fn is_here(level: Level) -> bool {
    let best = Bench::new().workbench.level().await.unwrap();
    if best < level {
        eprintln!("NOT TRIED: the level {level}, which this host does not give");
    }
    best >= level
}

/// Command lines of running processes that hold this text.
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
