//! What these tests share: a workspace in a temporary folder, and the sandbox with the worker of the tests as its helper.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use toolcrib_builtins::Builtins;
use toolcrib_builtins::fs::{Journal, Roots, Workspace};
use toolcrib_core::tool::Streams;
use toolcrib_core::{
    Block, CallCtx, CallId, CancellationToken, Context, Handler, StreamSink, ToolError,
};
use toolcrib_sandbox::{Backend, Local};

/// The executable that is helper and worker.
pub(crate) fn worker() -> &'static str {
    env!("CARGO_BIN_EXE_toolcrib-builtins-worker")
}

pub(crate) fn sandbox() -> Arc<dyn Backend> {
    Arc::new(Local::with_helper(worker()))
}

struct NoStreams;

impl Streams for NoStreams {
    fn open(&self, _: &CallCtx, _: &str) -> Box<dyn StreamSink> {
        panic!("nothing is streamed here")
    }
}

/// A call that has this much time.
pub(crate) fn context(time: Duration) -> CallCtx {
    CallCtx {
        call: CallId::fresh(),
        run: None,
        context: Arc::new(Context { owner: "ann".to_owned(), ..Context::default() }),
        attempt: 1,
        cancel: CancellationToken::new(),
        deadline: Instant::now() + time,
        streams: Arc::new(NoStreams),
    }
}

/// A workspace and the tools on it.
pub(crate) struct Shop {
    folder: tempfile::TempDir,
    tools: Vec<Arc<dyn Handler>>,
}

impl Shop {
    /// With the tools that `more` adds.
    pub(crate) fn new(more: impl FnOnce(Builtins, &Arc<Workspace>) -> Builtins) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["ws", "state"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let roots = Roots::open([folder.path().join("ws")]).unwrap();
        let journal = Journal::open(folder.path().join("state/undo")).unwrap();
        let workspace = Arc::new(Workspace::new(roots, journal));
        let builtins = Builtins::new().with_workspace(Arc::clone(&workspace));
        let tools = more(builtins, &workspace).handlers();
        Self { folder, tools }
    }

    /// A path in the workspace.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("ws").join(path)
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// The text of a call's parts.
    pub(crate) async fn call(
        &self,
        ctx: &CallCtx,
        name: &str,
        args: Value,
    ) -> Result<String, ToolError> {
        let found = self.tools.iter().find(|tool| tool.spec().name.as_str() == name);
        let tool = found.unwrap_or_else(|| panic!("no tool {name}"));
        tool.assess(&args)?;
        let output = tool.call(ctx, &args).await?;
        let texts: Vec<String> = output
            .content
            .into_iter()
            .filter_map(|block| match block {
                Block::Text { text, .. } => Some(text),
                _ => None,
            })
            .collect();
        Ok(texts.join("\n"))
    }
}
