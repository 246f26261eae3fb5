//! Test helpers for `code_exec`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_code_mode::{KernelPool, Setup, VirtualEnv, source_with};
use toolcrib_core::tool::Streams;
use toolcrib_core::{
    ArtifactRef, Block, CallCtx, CallId, CancellationToken, Context, ErrorType, Handler, RunId,
    Source as _, StreamSink, ToolError, ToolOutput,
};
use toolcrib_sandbox::{Level, Local};

/// The executable that is sandbox helper and interpreter.
pub(crate) const WORKER: &str = env!("CARGO_BIN_EXE_toolcrib-code-mode-worker");

/// The stored streams: media types and bytes.
#[derive(Default, Clone)]
pub(crate) struct Kept(Arc<Mutex<Streamed>>);

type Streamed = Vec<(String, Vec<u8>)>;

struct Sink {
    kept: Kept,
    media_type: String,
    bytes: Vec<u8>,
}

impl Streams for Kept {
    fn open(&self, _: &CallCtx, media_type: &str) -> Box<dyn StreamSink> {
        let (kept, media_type) = (self.clone(), media_type.to_owned());
        Box::new(Sink { kept, media_type, bytes: Vec::new() })
    }
}

impl StreamSink for Sink {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn finish(self: Box<Self>) -> Block {
        let mut kept = self.kept.0.lock().unwrap();
        kept.push((self.media_type.clone(), self.bytes.clone()));
        Block::Spilled {
            preview: String::from_utf8_lossy(&self.bytes).chars().take(100).collect(),
            media_type: self.media_type,
            total_bytes: self.bytes.len() as u64,
            artifact: Some(ArtifactRef(format!("art_{:032x}", kept.len()))),
        }
    }
}

pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) tool: Arc<dyn Handler>,
    pub(crate) setup: Setup,
    pub(crate) kept: Kept,
    pub(crate) run: Option<RunId>,
    pub(crate) kernels: Arc<KernelPool>,
}

/// Returns the `PATH` and `HOME` of the test run, with which its Python is found.
pub(crate) fn env() -> Vec<(OsString, OsString)> {
    let named = |name: &str| Some((name.into(), std::env::var_os(name)?));
    ["PATH", "HOME"].iter().filter_map(|name| named(name)).collect()
}

struct NoMasks;

impl toolcrib_code_mode::MaskFinder for NoMasks {
    fn masked<'a>(
        &'a self,
        _: &'a Arc<dyn toolcrib_core::PathDenials>,
    ) -> toolcrib_core::BoxFuture<'a, Result<Vec<PathBuf>, toolcrib_core::ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Setup)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut setup = Setup {
            backend: Arc::new(Local::with_helper(WORKER)),
            worker: PathBuf::from(WORKER),
            full: true,
            program: None,
            env: env(),
            environment: VirtualEnv::new(folder.path().join("environment")),
            scratch: folder.path().join("scratch"),
            suspended: folder.path().join("suspended"),
            search: Arc::new(toolcrib_code_mode::KeywordSearch),
            denied: Vec::new(),
            masks: Arc::new(NoMasks),
            minimum: Level::Reduced,
            memory: 1 << 30,
            workers: toolcrib_code_mode::SharedWorkerPool::default(),
        };
        change(&mut setup);
        let kernels = Arc::new(KernelPool::default());
        let entries = source_with(setup.clone(), Arc::clone(&kernels)).load().await.unwrap();
        let tool = Arc::clone(entries.first().unwrap().handler().unwrap());
        Self { folder, tool, setup, kernels, kept: Kept::default(), run: Some(RunId::fresh()) }
    }

    pub(crate) fn context(&self) -> CallCtx {
        CallCtx {
            call: CallId::fresh(),
            run: self.run,
            context: Arc::new(Context::default()),
            view: Arc::default(),
            attempt: 1,
            cancel: CancellationToken::new(),
            deadline: Instant::now() + Duration::from_secs(180),
            streams: Arc::new(self.kept.clone()),
            path_denials: toolcrib_core::NoPathDenials::shared(),
            approved_hosts: Arc::default(),
        }
    }

    pub(crate) async fn call(&self, args: Value) -> Said {
        Said(self.tool.call(&self.context(), &args).await)
    }

    pub(crate) async fn expression(&self, code: &str) -> Said {
        self.call(json!({"code": code, "level": "expression"})).await
    }

    pub(crate) async fn full(&self, code: &str) -> Said {
        self.call(json!({"code": code, "level": "full"})).await
    }

    /// Returns the stored artifacts of this media type.
    pub(crate) fn kept(&self, media_type: &str) -> Vec<Vec<u8>> {
        let kept = self.kept.0.lock().unwrap();
        kept.iter().filter(|(kind, _)| kind == media_type).map(|(_, bytes)| bytes.clone()).collect()
    }
}

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Said(pub(crate) Result<ToolOutput, ToolError>);

impl Said {
    pub(crate) fn output(&self) -> &ToolOutput {
        self.0.as_ref().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The text that a model reads.
    pub(crate) fn text(&self) -> String {
        let text = |block: &Block| match block {
            Block::Text { text, .. } => Some(text.trim_end().to_owned()),
            Block::Spilled { preview, .. } => Some(preview.clone()),
            _ => None,
        };
        let parts: Vec<String> = self.output().content.iter().filter_map(text).collect();
        parts.join("\n")
    }

    pub(crate) fn pictures(&self) -> usize {
        self.output().content.iter().filter(|block| matches!(block, Block::Image(_))).count()
    }

    pub(crate) fn data(&self, pointer: &str) -> Value {
        let data = self.output().structured.as_ref().unwrap();
        data.pointer(pointer).cloned().unwrap_or_default()
    }

    pub(crate) fn error(&self) -> (ErrorType, String) {
        match &self.0 {
            Ok(output) => panic!("no error: {output:?}"),
            Err(error) => (error.error_type, error.message.clone()),
        }
    }
}
