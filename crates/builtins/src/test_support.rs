//! Shared helpers of this crate's unit tests: a call context, a temporary workspace, and results as
//! text.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use toolcrib_core::tool::Streams;
use toolcrib_core::{
    Block, CallCtx, CallId, CancellationToken, Clock, Context, ErrorType, Handler, StreamSink,
    ToolError, ToolOutput,
};

use crate::Builtins;
use crate::fs::{Journal, Roots, Workspace};

/// A clock with a fixed time.
pub(crate) struct FixedClock(pub(crate) i64);

impl Clock for FixedClock {
    fn now_ms(&self) -> i64 {
        self.0
    }
}

/// Built-in tools do not stream.
struct NoStreams;

impl Streams for NoStreams {
    fn open(&self, _: &CallCtx, _: &str) -> Box<dyn StreamSink> {
        panic!("no built-in tool opens a stream")
    }
}

pub(crate) fn context() -> CallCtx {
    CallCtx {
        call: CallId::fresh(),
        run: None,
        context: Arc::new(Context { owner: "ann".to_owned(), ..Context::default() }),
        view: Arc::default(),
        attempt: 1,
        cancel: CancellationToken::new(),
        deadline: Instant::now() + Duration::from_secs(30),
        streams: Arc::new(NoStreams),
        path_denials: toolcrib_core::NoPathDenials::shared(),
        approved_hosts: Arc::default(),
    }
}

/// A result with access to its text.
#[derive(Debug)]
pub(crate) struct TextOutput(pub(crate) ToolOutput);

impl TextOutput {
    /// Returns the text of all parts.
    pub(crate) fn text(&self) -> String {
        self.parts().join("\n")
    }

    pub(crate) fn parts(&self) -> Vec<String> {
        let text = |block: &Block| match block {
            Block::Text { text, .. } => Some(text.clone()),
            _ => None,
        };
        self.0.content.iter().filter_map(text).collect()
    }
}

pub(crate) type CallResult = Result<TextOutput, ToolError>;

pub(crate) async fn call(handler: &Arc<dyn Handler>, args: Value) -> CallResult {
    handler.call(&context(), &args).await.map(TextOutput)
}

/// A temporary workspace: `ws` is its root, `out` lies beside it, the journal is in `state`.
pub(crate) struct TestWorkspace {
    dir: tempfile::TempDir,
    pub(crate) workspace: Arc<Workspace>,
    tools: Vec<Arc<dyn Handler>>,
}

impl TestWorkspace {
    pub(crate) fn new() -> Self {
        Self::with(|roots| roots)
    }

    pub(crate) fn with(change: impl FnOnce(Roots) -> Roots) -> Self {
        let dir = tempfile::tempdir().expect("temporary folder");
        for name in ["ws", "out", "state"] {
            std::fs::create_dir(dir.path().join(name)).expect(name);
        }
        let roots = Roots::open([dir.path().join("ws")]).expect("root");
        let roots = roots.protect([dir.path().join("state")]).expect("roots");
        let journal = Journal::open(dir.path().join("state/undo")).expect("journal");
        let workspace = Arc::new(Workspace::new(change(roots), journal));
        let tools = Builtins::new().with_workspace(Arc::clone(&workspace)).handlers();
        Self { dir, workspace, tools }
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Handler> {
        let found = self.tools.iter().find(|tool| tool.spec().name.as_str() == name);
        Arc::clone(found.expect(name))
    }

    pub(crate) async fn call(&self, name: &str, args: Value) -> CallResult {
        call(&self.tool(name), args).await
    }

    /// Makes a call that must succeed, and returns its text.
    pub(crate) async fn call_ok(&self, name: &str, args: Value) -> String {
        let shown = format!("{name} {args}");
        self.call(name, args).await.unwrap_or_else(|e| panic!("{shown}: {e}")).text()
    }

    /// Makes a call that must fail with this type, and returns the error text.
    pub(crate) async fn call_err(&self, name: &str, args: Value, kind: ErrorType) -> String {
        let shown = format!("{name} {args}");
        let error = self.call(name, args).await.map(|said| said.text()).expect_err(&shown);
        assert_eq!(error.error_type, kind, "{shown}: {}", error.message);
        error.message
    }

    /// Returns a path in the workspace.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join("ws").join(path)
    }

    /// Returns a path outside the workspace.
    pub(crate) fn path_outside(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn write_file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("parents");
        std::fs::write(&path, content).expect("file");
    }

    pub(crate) fn read_file(&self, path: &str) -> Option<String> {
        std::fs::read(self.path(path)).ok().map(|b| String::from_utf8_lossy(&b).into_owned())
    }
}
