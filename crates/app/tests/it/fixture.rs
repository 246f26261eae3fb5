//! Fixture of a test case: a folder, a server, and a Toolcrib with the case's settings.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_app::{Builder, Engine, ExecRequest, Settings, Toolcrib};
use toolcrib_core::{
    Answer, Batch, Call, CallFilter, CallRow, Context, Invoker as _, Origin, Permission,
    PermissionState, RawArgs, RunId, RunLimits, RunSpec, ViewRequest,
};
use toolcrib_providers::Format;
use toolcrib_testkit::{ScriptedApprover, ScriptedTool, fixed_source};

use crate::web_server::WebServer;

/// A fixture before it is opened.
pub(crate) struct FixtureBuilder {
    dir: TempDir,
    settings: Settings,
    changes: Vec<Box<dyn FnOnce(Builder) -> Builder>>,
    tools: Vec<Arc<ScriptedTool>>,
}

/// An open fixture; its folder is removed with it.
pub(crate) struct Fixture {
    dir: TempDir,
    pub(crate) web: WebServer,
    pub(crate) toolcrib: Toolcrib,
}

impl FixtureBuilder {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("shop")).unwrap();
        let mut settings = Settings::new(dir.path().join("shop"), dir.path().join("state"));
        // A fixed table of names prevents requests to the network's resolver.
        settings.resolve = vec![
            "inward.example.com=10.0.0.7".to_owned(),
            "both.example.com=93.184.215.14,127.0.0.1".to_owned(),
        ];
        Self { dir, settings, changes: Vec::new(), tools: Vec::new() }
    }

    /// Adds a file of the workspace.
    pub(crate) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.dir.path().join("shop").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Adds a file beside the workspace, which no tool may access.
    pub(crate) fn outside_file(self, path: &str, content: &str) -> Self {
        std::fs::write(self.dir.path().join(path), content).unwrap();
        self
    }

    pub(crate) fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(Builder) -> Builder + 'static) -> Self {
        self.changes.push(Box::new(change));
        self
    }

    pub(crate) fn tool(mut self, tool: &Arc<ScriptedTool>) -> Self {
        self.tools.push(Arc::clone(tool));
        self
    }

    pub(crate) fn asking(self, approver: &Arc<ScriptedApprover>) -> Self {
        let approver = Arc::clone(approver);
        self.with(|builder| builder.approver(approver))
    }

    /// Sets an approver that approves this many calls, each once.
    pub(crate) fn approving(self, times: usize) -> Self {
        self.asking(&Arc::new(ScriptedApprover::approving(times)))
    }

    /// Sets the state of one permission; all others are granted.
    pub(crate) fn permission(self, permission: Permission, state: PermissionState) -> Self {
        self.with(move |builder| {
            let granted = toolcrib_engine::GrantedPermissions::default();
            builder.permissions(Arc::new(granted.with(permission, state)))
        })
    }

    pub(crate) async fn open(mut self) -> Fixture {
        let web = WebServer::open().await;
        self.settings.allow_net.push(web.addr.to_string());
        let mut builder = Toolcrib::builder(self.settings);
        if !self.tools.is_empty() {
            builder = builder.source(fixed_source("test", &self.tools.iter().collect::<Vec<_>>()));
        }
        let builder = self.changes.into_iter().fold(builder, |builder, change| change(builder));
        Fixture { dir: self.dir, web, toolcrib: builder.build().await.unwrap() }
    }

    /// Opens the fixture for a single call.
    pub(crate) async fn call(self, name: &str, args: Value) -> Value {
        self.open().await.call(name, args).await
    }

    /// Like `call`, with argument text as a model writes it.
    pub(crate) async fn call_text(self, name: &str, args: &str) -> Value {
        self.open().await.one(Call::with_text(name, args)).await
    }
}

impl Fixture {
    pub(crate) fn engine(&self) -> &Engine {
        self.toolcrib.engine()
    }

    /// Returns a path in the workspace.
    pub(crate) fn file_path(&self, path: &str) -> PathBuf {
        self.dir.path().join("shop").join(path)
    }

    /// Returns a path beside the workspace.
    pub(crate) fn outside_path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Returns the text of a file of the workspace; null if the file does not exist.
    pub(crate) fn text(&self, path: &str) -> Value {
        std::fs::read_to_string(self.file_path(path)).map_or(Value::Null, Value::String)
    }

    pub(crate) async fn call(&self, name: &str, args: Value) -> Value {
        answer_json(&self.toolcrib.call(name, RawArgs::Value(args), Origin::Model).await.unwrap())
    }

    pub(crate) async fn one(&self, call: Call) -> Value {
        self.all(Batch::new(Origin::Model, vec![call])).await.remove(0)
    }

    pub(crate) async fn all(&self, batch: Batch) -> Vec<Value> {
        self.engine().invoke(batch).await.iter().map(answer_json).collect()
    }

    /// Opens a run with these limits.
    pub(crate) fn run(&self, limits: RunLimits) -> RunId {
        self.engine().open_run(RunSpec { limits, ..RunSpec::default() }).unwrap()
    }

    /// Makes one call of a run.
    pub(crate) async fn call_in(&self, run: RunId, name: &str, args: Value) -> Value {
        let batch =
            Batch { run: Some(run), ..Batch::new(Origin::Model, vec![Call::new(name, args)]) };
        self.all(batch).await.remove(0)
    }

    /// Runs the calls of a model's response; returns messages with parsed JSON texts, the wire form
    /// of each call, and notes; or the error.
    pub(crate) async fn exec(
        &self,
        format: impl Into<Option<Format>>,
        body: impl AsRef<[u8]>,
    ) -> Value {
        let request = ExecRequest {
            body: body.as_ref(),
            format: format.into(),
            origin: Origin::Model,
            context: Arc::new(Context { owner: "ann".to_owned(), ..Context::default() }),
            view: ViewRequest::default(),
            limits: RunLimits::default(),
            key: None,
        };
        match self.toolcrib.exec(request).await {
            Err(error) => json!({"error": error.to_string()}),
            Ok(reply) => json!({
                "format": reply.format,
                "messages": opened(json!(reply.messages)),
                "calls": reply.calls.iter().map(|call| answer_json(&call.answer)).collect::<Vec<_>>(),
                "hosted": reply.hosted.iter().map(|call| &call.kind).collect::<Vec<_>>(),
                "assistant": reply.assistant,
                "notes": reply.notes.join("; "),
                "complete": reply.complete,
            }),
        }
    }

    /// Returns every stored call: whether it started, and its details if it has ended.
    pub(crate) async fn records(&self) -> Vec<Value> {
        let mut rows = Vec::new();
        for owner in ["", "ann"] {
            let filter =
                CallFilter { owner: owner.to_owned(), limit: usize::MAX, ..Default::default() };
            rows.extend(self.toolcrib.stores().history.calls(filter).await.unwrap());
        }
        rows.sort_by_key(|row| row.facts.call);
        let lines = |row: CallRow| {
            let started = row.started_at.map(|_| json!("started"));
            let ended = row.end.map(|end| {
                let mut line = json!(row.facts);
                line.as_object_mut().unwrap().extend(json!(end).as_object().unwrap().clone());
                line
            });
            started.into_iter().chain(ended)
        };
        rows.into_iter().flat_map(lines).collect()
    }
}

/// Returns the wire form together with the outcome.
pub(crate) fn answer_json(answer: &Answer) -> Value {
    match answer {
        Answer::Done(outcome) => {
            let mut wire = outcome.to_wire();
            wire["outcome"] = json!(outcome.kind);
            wire
        }
        Answer::Suspended(request) => json!({"suspended": request.summary}),
    }
}

/// Replaces every text that is a JSON object by `{"json": object}`, so that a text in a message can
/// still be distinguished from an object.
fn opened(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(opened).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, opened(value))).collect(),
        Value::String(text) => match serde_json::from_str::<Value>(&text) {
            Ok(object @ Value::Object(_)) => json!({"json": object}),
            _ => Value::String(text),
        },
        other => other,
    }
}
