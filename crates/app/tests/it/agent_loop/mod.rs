//! The agent loop through the facade: tools on real files, tool folders, agents and skills as
//! files, and a database file that several processes share.

mod conversation;
mod pause_and_resume;
mod shipped_library;
mod stop_kills_processes;
mod tool_search;
mod tool_views;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use toolcrib_agent::context::{CompactionRules, ContextWindows, Prices};
use toolcrib_agent::driver::{DriveOutcome, HumanInput, NoHumanInput, RunControl};
use toolcrib_agent::events::Event;
use toolcrib_agent::library::{Folder, Folders, GENERAL_ASSISTANT, Scope};
use toolcrib_app::runner::{
    DeferApproval, RunHandles, RunReport, Runner, RunnerError, RunnerLimits, RunnerSettings,
    StartRequest,
};
use toolcrib_app::{Settings, ToolFolder, ToolSearchSettings, Toolcrib};
use toolcrib_core::{
    Approver, BoxFuture, CancellationToken, Context, ConversationId, RunId, StoreError,
};
use toolcrib_providers::conversation::{Message, UserMessage};
use toolcrib_providers::model::{
    DeltaSink, Model, ModelError, ModelInfo, ModelReply, ModelRequest,
};
use toolcrib_providers::scripted::{ScriptTurn, ScriptedModel};

/// Folders and a database that several processes share.
struct Home(TempDir);

/// One process on the shared folders.
struct Process {
    toolcrib: Toolcrib,
    runner: Runner,
    events: Arc<Mutex<Vec<Event>>>,
    control: RunControl,
    conversation: ConversationId,
    agent: &'static str,
}

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for folder in ["shop", "tools", "agents", "skills"] {
            fs::create_dir(home.at(folder)).unwrap();
        }
        home
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
        self
    }

    /// Writes a tool into the folder.
    fn tool(&self, name: &str, definition: &str, script: &str) -> &Self {
        self.file(&format!("tools/{name}/tool.toml"), definition);
        self.file(&format!("tools/{name}/run"), &format!("#!/bin/sh\n{script}\n"));
        let run = self.at(&format!("tools/{name}/run"));
        fs::set_permissions(run, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// Opens a process whose questions wait for a decision.
    async fn open(&self) -> Process {
        self.open_asking(Arc::new(DeferApproval)).await
    }

    async fn open_asking(&self, approver: Arc<dyn Approver>) -> Process {
        self.open_with(approver, ToolSearchSettings::default()).await
    }

    /// Opens a process whose models find tools in this way.
    async fn open_finding(&self, discovery: ToolSearchSettings) -> Process {
        self.open_with(Arc::new(DeferApproval), discovery).await
    }

    async fn open_with(
        &self,
        approver: Arc<dyn Approver>,
        discovery: ToolSearchSettings,
    ) -> Process {
        let mut settings = Settings::new(self.at("shop"), self.at("state"));
        settings.database = Some(self.at("state/toolcrib.db"));
        settings.tool_folders = vec![ToolFolder::new("mine", self.at("tools"))];
        settings.engine.approval_timeout = None;
        settings.discovery = discovery;
        let toolcrib =
            Toolcrib::builder(settings).approver(approver).for_agents().build().await.unwrap();
        let folder = |name: &str| vec![Folder { scope: Scope::User, path: self.at(name) }];
        let settings = RunnerSettings {
            folders: Folders {
                agents: folder("agents"),
                skills: folder("skills"),
                ..Folders::default()
            },
            workspace: Some(self.at("shop")),
            windows: Arc::new(
                ContextWindows::builtin().unwrap().with_override("*", 1_000_000).unwrap(),
            ),
            prices: Arc::new(Prices::builtin().unwrap()),
            compaction: CompactionRules::default(),
        };
        let runner = Runner::new(toolcrib.clone(), settings).unwrap();
        Process {
            toolcrib,
            runner,
            events: Arc::default(),
            control: RunControl::new(),
            conversation: ConversationId::fresh(),
            agent: GENERAL_ASSISTANT,
        }
    }
}

impl Process {
    fn start(&self, model: &Arc<Watched>, text: &str) -> StartRequest {
        StartRequest {
            message: UserMessage { text: text.to_owned(), ..UserMessage::default() },
            agent: self.runner.library().agent(self.agent).unwrap().clone(),
            models: vec![Arc::clone(model) as Arc<dyn Model>],
            conversation: self.conversation,
            context: Context { owner: "ann".to_owned(), ..Context::default() },
            limits: RunnerLimits::default(),
            skill: None,
            stream: true,
            setup: serde_json::Value::Null,
            untrusted: None,
        }
    }

    fn surfaces(&self, person: impl HumanInput + 'static) -> RunHandles {
        let events = Arc::clone(&self.events);
        RunHandles {
            control: self.control.clone(),
            events: Arc::new(move |event| events.lock().unwrap().push(event)),
            person: Arc::new(person),
        }
    }

    async fn run(&self, model: &Arc<Watched>) -> RunReport {
        let start = self.start(model, "go");
        self.runner.start(start, &self.surfaces(NoHumanInput)).await.unwrap()
    }

    /// Resumes a run.
    async fn resume(
        &self,
        run: RunId,
        model: &Arc<Watched>,
        person: impl HumanInput + 'static,
    ) -> Result<RunReport, RunnerError> {
        let run = self.runner.store().run(run).await.unwrap().unwrap();
        self.runner.resume(run, self.start(model, ""), &self.surfaces(person)).await
    }

    /// Returns the messages as they are stored.
    async fn stored(&self, conversation: ConversationId) -> Result<Vec<Message>, StoreError> {
        let messages = self.runner.store().messages(conversation, 0).await?;
        Ok(messages.into_iter().map(|m| serde_json::from_value(m.body).unwrap()).collect())
    }
}

fn ended(finished: &RunReport) -> &'static str {
    match &finished.driven {
        DriveOutcome::Ended(end) => end.as_str(),
        DriveOutcome::Paused(_) => "paused",
    }
}

/// Returns the wire forms of the answers of the model's first message.
fn answers(messages: &[Message]) -> Vec<serde_json::Value> {
    let first = messages.iter().find_map(|message| match message {
        Message::Model(message) => Some(message),
        Message::User(_) => None,
    });
    let slots = first.unwrap().answers().iter().flatten();
    slots.map(|answer| answer.wire.clone()).collect()
}

/// A scripted model that records its requests.
struct Watched {
    info: ModelInfo,
    script: ScriptedModel,
    asked: Mutex<Vec<ModelRequest>>,
}

impl Watched {
    fn new(turns: impl IntoIterator<Item = ScriptTurn>) -> Arc<Self> {
        Arc::new(Self::make(turns))
    }

    fn on_device(turns: impl IntoIterator<Item = ScriptTurn>) -> Arc<Self> {
        let mut model = Self::make(turns);
        model.info.on_device = true;
        Arc::new(model)
    }

    fn make(turns: impl IntoIterator<Item = ScriptTurn>) -> Self {
        let script = ScriptedModel::from_turns("script", turns).unwrap();
        Self { info: script.info().clone(), script, asked: Mutex::default() }
    }

    fn asked(&self) -> Vec<ModelRequest> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns the names of the tools that a request declares.
    fn declared(&self, request: usize) -> Vec<String> {
        let asked = self.asked();
        let Some(tools) = &asked[request].tools else { return Vec::new() };
        let list = tools.value.as_array().unwrap().iter();
        list.map(|item| item["function"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

impl Model for Watched {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        self.asked.lock().unwrap().push(request.clone());
        self.script.ask(request, deltas, cancel)
    }
}
