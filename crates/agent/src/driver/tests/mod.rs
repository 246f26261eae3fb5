//! Tests of the driver with scripted models and a real engine. Every run is also checked against
//! the event grammar.

/// A store that forwards everything but checkpoints to its member `runs`.
macro_rules! kept_by_its_runs {
    ($type:ident) => {
        kept_by_its_runs! { $type
            ConversationStore {
                fn put_conversation(conversation: Conversation) -> ();
                fn change_conversation(conversation: Conversation) -> ();
                fn conversation(id: ConversationId) -> Option<Conversation>;
                fn conversations(owner: &'a str, limit: usize) -> Vec<Conversation>;
                fn conversations_before(owner: &'a str, before: (i64, ConversationId), limit: usize) -> Vec<Conversation>;
                fn put_messages(conversation: ConversationId, messages: Vec<StoredMessage>) -> ();
                fn messages(conversation: ConversationId, since: u64) -> Vec<StoredMessage>;
                fn messages_page(conversation: ConversationId, since: u64, limit: usize) -> Vec<StoredMessage>;
                fn messages_of_run(conversation: ConversationId, run: RunId) -> Vec<StoredMessage>;
                fn trash_conversation(owner: &'a str, id: ConversationId, at: i64) -> ();
                fn restore_conversation(owner: &'a str, id: ConversationId) -> ();
                fn deleted_conversations(owner: &'a str, limit: usize) -> Vec<toolcrib_core::DeletedConversation>;
                fn purge_conversations(before: i64) -> ();
                fn delete_conversation(owner: &'a str, id: ConversationId) -> ();
            }
            RunStore {
                fn put_run(run: StoredRun) -> ();
                fn run(id: RunId) -> Option<StoredRun>;
                fn claim_run(id: RunId, epoch: u64) -> StoredRun;
                fn runs(owner: &'a str, status: Option<toolcrib_core::RunStatus>, limit: usize) -> Vec<StoredRun>;
                fn runs_before(owner: &'a str, status: Option<toolcrib_core::RunStatus>, before: (i64, RunId), limit: usize) -> Vec<StoredRun>;
                fn open_runs(limit: usize) -> Vec<toolcrib_core::OpenRun>;
            }
        }
    };
    ($type:ident $($trait:ident { $(fn $name:ident ($($arg:ident: $of:ty),*) -> $out:ty;)* })*) => {
        $(impl toolcrib_core::$trait for $type {
            $(fn $name<'a>(&'a self, $($arg: $of),*) -> BoxFuture<'a, Result<$out, StoreError>> {
                self.runs.$name($($arg),*)
            })*
        })*
    };
}

mod checkpoints;
mod compaction;
mod event_grammar;
mod events;
mod found_tools;
mod hand_over;
mod labels;
mod loop_guards;
mod model_fallback;
mod pause_and_resume;
mod questions;
mod queued_messages;
mod recording_model;
mod resume_at_every_step;
mod stop;
mod views;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{
    ApprovalStore, Approver, Clock, Context, Conversation, ConversationAndRunStore, ConversationId,
    ConversationStore as _, Effect, Entry, Risk, RunId, RunLimits, RunUsage, SystemClock,
    ToolOutput, ViewRequest,
};
use toolcrib_engine::store::{MemoryApprovals, MemoryRuns, MemoryUsage};
use toolcrib_engine::{Engine, EngineBuilder};
use toolcrib_providers::conversation::{CallAnswer, Message, UserKind, UserMessage};
use toolcrib_providers::model::Model;
use toolcrib_providers::scripted::ScriptTurn;
use toolcrib_testkit::{ScriptedTool, fixed_source};

use super::{DriveOutcome, Driver, HumanInput, NoHumanInput, NoRefresh, RunControl, RunJob};
use crate::ask_user;
use crate::context::{CompactionRules, ContextWindows, Money, Prices};
use crate::events::Event;
use crate::machine::{Machine, ROUNDS};
use crate::tool_selection::{ActiveRequestTools, ToolSelectionRules};

use recording_model::TestModel;

/// A run before it begins, with its environment.
struct Scene {
    engine: Engine,
    approvals: Arc<dyn ApprovalStore>,
    clock: Arc<dyn Clock>,
    store: Arc<MemoryRuns>,
    models: Vec<Arc<TestModel>>,
    person: Arc<dyn HumanInput>,
    windows: ContextWindows,
    prices: Prices,
    compaction: CompactionRules,
    limits: RunLimits,
    cost: Option<Money>,
    rounds: Option<u32>,
    view: ViewRequest,
    offer: ToolSelectionRules,
    exposed: Arc<ActiveRequestTools>,
    history: Vec<Arc<Message>>,
    control: RunControl,
    events: Arc<Mutex<Vec<Event>>>,
    /// Called with each event, synchronously.
    looks: Arc<dyn Fn(&Event) + Send + Sync>,
}

/// The result of a run.
struct Ran {
    machine: Machine,
    driven: DriveOutcome,
    events: Vec<Event>,
}

impl Scene {
    async fn new(
        turns: impl IntoIterator<Item = ScriptTurn>,
        tools: &[&Arc<ScriptedTool>],
    ) -> Self {
        Self::over(Engine::builder(), turns, tools).await
    }

    /// With an approver for risky calls.
    async fn asking(
        approver: impl Approver + 'static,
        turns: impl IntoIterator<Item = ScriptTurn>,
        tools: &[&Arc<ScriptedTool>],
    ) -> Self {
        Self::over(Engine::builder().approver(Arc::new(approver)), turns, tools).await
    }

    async fn over(
        engine: EngineBuilder,
        turns: impl IntoIterator<Item = ScriptTurn>,
        tools: &[&Arc<ScriptedTool>],
    ) -> Self {
        Self::keeping(Arc::new(MemoryApprovals::default()), engine, turns, tools).await
    }

    /// With this approval store.
    async fn keeping(
        approvals: Arc<dyn ApprovalStore>,
        engine: EngineBuilder,
        turns: impl IntoIterator<Item = ScriptTurn>,
        tools: &[&Arc<ScriptedTool>],
    ) -> Self {
        let engine = engine.approvals(Arc::clone(&approvals)).build();
        engine.catalog().attach(&fixed_source("test", tools)).await.unwrap();
        let own = FixedSource::new("agent", vec![Entry::Local(ask_user::handler())]);
        engine.catalog().attach(&own).await.unwrap();
        Self {
            engine,
            approvals,
            clock: Arc::new(SystemClock),
            store: Arc::default(),
            models: vec![TestModel::new(turns)],
            person: Arc::new(NoHumanInput),
            windows: ContextWindows::builtin().unwrap().with_override("*", 1_000_000).unwrap(),
            prices: Prices::builtin().unwrap(),
            compaction: CompactionRules::default(),
            limits: RunLimits::default(),
            cost: None,
            rounds: Some(ROUNDS),
            view: ViewRequest::default(),
            offer: ToolSelectionRules::default(),
            exposed: Arc::default(),
            history: Vec::new(),
            control: RunControl::new(),
            events: Arc::default(),
            looks: Arc::new(|_| {}),
        }
    }

    fn driver(&self) -> Driver {
        let (events, looks) = (Arc::clone(&self.events), Arc::clone(&self.looks));
        Driver {
            invoker: Arc::new(self.engine.clone()),
            catalog: self.engine.shared_catalog(),
            approvals: Arc::clone(&self.approvals),
            usage: Arc::new(MemoryUsage::default()),
            store: Arc::clone(&self.store) as Arc<dyn ConversationAndRunStore>,
            clock: Arc::clone(&self.clock),
            human_input: Arc::clone(&self.person),
            windows: Arc::new(self.windows.clone()),
            prices: Arc::new(self.prices.clone()),
            compaction: self.compaction,
            tool_selection: self.offer,
            on_device_tools: crate::library::ON_DEVICE_TOOLS.map(str::to_owned).to_vec().into(),
            request_tools: Arc::clone(&self.exposed),
            refresh: Arc::new(NoRefresh),
            events: Arc::new(move |event| {
                looks(&event);
                events.lock().unwrap().push(event);
            }),
        }
    }

    fn job(&self) -> RunJob {
        let models = self.models.iter().map(|model| Arc::clone(model) as Arc<dyn Model>);
        RunJob {
            models: models.collect(),
            context: Arc::new(Context { owner: "ann".to_owned(), ..Context::default() }),
            agent: "tester".to_owned(),
            view: self.view.clone(),
            prompt: Arc::new(|offered, _, _| format!("You have {} tools.", offered.tools.len())),
            temperature: None,
            max_output: None,
            stream: true,
            limits: self.limits,
            cost: self.cost,
            used: RunUsage::default(),
            epoch: 0,
            resumed: false,
            setup: json!({"kept": "as it is"}),
        }
    }

    async fn run(&self) -> Ran {
        let conversation = ConversationId::fresh();
        self.store.put_conversation(untitled(conversation)).await.unwrap();
        let (run, history) = (RunId::fresh(), self.history.clone());
        let machine = Machine::begin(run, conversation, history, typed("go"), self.rounds);
        self.drive(machine, &self.job()).await
    }

    /// Drives a machine and checks its events.
    async fn drive(&self, mut machine: Machine, job: &RunJob) -> Ran {
        let driven = self.driver().drive(&mut machine, job, &self.control).await.unwrap();
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        event_grammar::check(&events, &machine);
        Ran { machine, driven, events }
    }

    fn model(&self) -> &TestModel {
        &self.models[0]
    }
}

impl Ran {
    fn end(&self) -> &'static str {
        match &self.driven {
            DriveOutcome::Ended(end) => end.as_str(),
            DriveOutcome::Paused(_) => "paused",
        }
    }

    /// The wire forms of the results of the model's `nth` message, from 0.
    fn answers(&self, nth: usize) -> Vec<Value> {
        self.slots(nth).iter().map(|answer| answer.as_ref().unwrap().wire.clone()).collect()
    }

    fn slots(&self, nth: usize) -> &[Option<CallAnswer>] {
        let models = self.machine.history().iter().filter_map(|message| match &**message {
            Message::Model(message) => Some(message),
            Message::User(_) => None,
        });
        models.clone().nth(nth).unwrap_or_else(|| panic!("{} messages", models.count())).answers()
    }

    /// The messages of this kind to the model.
    fn said(&self, kind: UserKind) -> Vec<&str> {
        said(self.machine.history(), kind)
    }
}

fn said(history: &[Arc<Message>], kind: UserKind) -> Vec<&str> {
    let texts = history.iter().filter_map(|message| match &**message {
        Message::User(message) if message.kind == kind => Some(message.text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn typed(text: &str) -> UserMessage {
    UserMessage { text: text.to_owned(), ..UserMessage::default() }
}

fn untitled(id: ConversationId) -> Conversation {
    let empty = String::new;
    Conversation {
        id,
        owner: "ann".to_owned(),
        title: empty(),
        agent: empty(),
        workspace: empty(),
        created_at: 0,
        updated_at: 0,
    }
}

/// A tool that returns its arguments.
fn echo(name: &str) -> Arc<ScriptedTool> {
    Arc::new(
        ScriptedTool::new(name).does(|_, args| {
            Box::pin(std::future::ready(Ok(ToolOutput::text(format!("got {args}")))))
        }),
    )
}

/// The same, with high risk.
fn risky(name: &str) -> ScriptedTool {
    let tool = ScriptedTool::new(name)
        .does(|_, args| Box::pin(std::future::ready(Ok(ToolOutput::text(format!("did {args}"))))));
    tool.spec(|spec| {
        spec.risk = Risk::High;
        spec.effect = Effect::Destructive;
    })
}

fn call(tool: &str, n: usize) -> ScriptTurn {
    ScriptTurn::call(tool, json!({"n": n}))
}

fn say(text: &str) -> ScriptTurn {
    ScriptTurn::say(text)
}
