//! Runner: runs agents with the agent loop, using this Toolcrib's invoker, stores and library.

mod conversation_summaries;
mod event_masking;
mod job_builder;
mod library_loader;
mod person_texts;
mod prompt_preview;
mod refresh_sequence;
mod restored_labels;
mod run_limits;
mod wait_for_decision;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_agent::context::{CompactionRules, ContextWindows, Price, Prices};
use toolcrib_agent::driver::{
    DriveError, DriveOutcome, Driver, HumanInput, NoRefresh, RestoreError, RunControl, RunJob,
    ToolRefresh,
};
use toolcrib_agent::events::EventSink;
use toolcrib_agent::library::{Agent, Folders, Library, LibraryHandle, Problem, ToolNames};
use toolcrib_agent::machine::{ActiveSkill, Machine, RunEnd};
use toolcrib_core::taint::MESSAGE;
use toolcrib_core::{
    Clock, Context, Conversation, ConversationAndRunStore, ConversationId, Label, LabelSource,
    Labels, RunId, RunStatus, RunUsage, StoreError, StoredRun, SystemClock,
};
use toolcrib_providers::conversation::{Message, UserMessage};
use toolcrib_providers::model::Model;

use crate::sealed_stores::MaskedApprovalStore;
use crate::settings::SetupError;
use crate::toolcrib::Toolcrib;
use conversation_summaries::Summaries;
use refresh_sequence::RefreshSequence;

pub use library_loader::{load_library, tool_names};
pub use prompt_preview::PromptPreview;
pub use restored_labels::run_labels as labels_of_run;
pub use run_limits::{LimitError, RunnerLimits};
pub use wait_for_decision::{DeferApproval, WaitForDecision};

/// Settings of a runner.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// Folders of agents, skills, kits and guides.
    pub folders: Folders,
    /// Workspace folder, for `AGENTS.md` and the system prompt.
    pub workspace: Option<PathBuf>,
    /// Context window sizes of models.
    pub windows: Arc<ContextWindows>,
    /// Prices of models.
    pub prices: Arc<Prices>,
    /// Rules for replacing older messages with a summary.
    pub compaction: CompactionRules,
}

/// Runs agents. Cheap to clone.
///
/// ```
/// use std::sync::Arc;
///
/// use toolcrib_agent::context::{ContextWindows, Prices};
/// use toolcrib_agent::driver::{NoHumanInput, RunControl};
/// use toolcrib_agent::library::GENERAL_ASSISTANT;
/// use toolcrib_core::{Context, ConversationId};
/// use toolcrib_providers::conversation::UserMessage;
/// use toolcrib_providers::scripted::{ScriptTurn, ScriptedModel};
/// use toolcrib_app::runner::{RunHandles, Runner, RunnerSettings, StartRequest};
/// use toolcrib_app::{Settings, Toolcrib};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let home = tempfile::tempdir()?;
/// # let (workspace, state) = (home.path().join("workspace"), home.path().join("state"));
/// # std::fs::create_dir(&workspace)?;
/// let settings = Settings::new(&workspace, &state);
/// let toolcrib = Toolcrib::builder(settings).for_agents().build().await?;
/// let runner = Runner::new(toolcrib, RunnerSettings {
///     folders: Default::default(),
///     workspace: Some(workspace),
///     windows: Arc::new(ContextWindows::builtin()?),
///     prices: Arc::new(Prices::builtin()?),
///     compaction: Default::default(),
/// })?;
/// let agent = runner.library().agent(GENERAL_ASSISTANT)?.clone();
/// let model = ScriptedModel::from_turns("demo", [ScriptTurn::say("Hello.")])?;
/// let start = StartRequest {
///     message: UserMessage { text: "Say hello".to_owned(), ..UserMessage::default() },
///     agent,
///     models: vec![Arc::new(model)],
///     conversation: ConversationId::fresh(),
///     context: Context::default(),
///     limits: Default::default(),
///     skill: None,
///     stream: false,
///     setup: serde_json::Value::Null,
///     untrusted: None,
/// };
/// let handles = RunHandles {
///     control: RunControl::new(),
///     events: Arc::new(|event| println!("{event:?}")),
///     person: Arc::new(NoHumanInput),
/// };
/// let report = runner.start(start, &handles).await?;
/// assert_eq!(report.text, "Hello.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Runner {
    toolcrib: Toolcrib,
    store: Arc<dyn ConversationAndRunStore>,
    clock: Arc<dyn Clock>,
    library: LibraryHandle,
    settings: Arc<RunnerSettings>,
    summaries: Arc<Summaries>,
    /// Checks before each request, besides tool folders.
    refresh: Arc<dyn ToolRefresh>,
    /// Held while the library is reloaded.
    reloading: Arc<Mutex<()>>,
}

/// A run to start.
pub struct StartRequest {
    /// The user's message.
    pub message: UserMessage,
    /// The agent.
    pub agent: Agent,
    /// The models, in order of preference.
    pub models: Vec<Arc<dyn Model>>,
    /// The conversation; a new id starts one.
    pub conversation: ConversationId,
    /// The context of the run; the runner sets agent and conversation.
    pub context: Context,
    /// Limits of the run; the agent's limits apply to those that are unset.
    pub limits: RunnerLimits,
    /// A skill that is active from the start, in addition to the agent's own.
    pub skill: Option<String>,
    /// Whether answers are streamed.
    pub stream: bool,
    /// Opaque data that another process needs to continue this run.
    pub setup: serde_json::Value,
    /// Source of a part of the message that is untrusted text: the run then starts untrusted.
    pub untrusted: Option<String>,
}

/// The end of a run, or the decision that it waits for.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// The run.
    pub run: RunId,
    /// Its conversation.
    pub conversation: ConversationId,
    /// The end of the run, or the decision that it waits for.
    pub driven: DriveOutcome,
    /// Text of the last answer.
    pub text: String,
    /// Messages that arrived too late for the run.
    pub left_over: Vec<UserMessage>,
}

/// The connections of a run to the outside.
#[derive(Clone)]
pub struct RunHandles {
    /// Stops the run, and passes messages to it.
    pub control: RunControl,
    /// Receives the run's events.
    pub events: EventSink,
    /// Answers questions of the model.
    pub person: Arc<dyn HumanInput>,
}

/// The reason why a run could not be started or resumed.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The run does not exist.
    #[error("there is no run {0}; `toolcrib resume --list` shows those that wait")]
    UnknownRun(RunId),
    /// The run does not wait for a decision.
    #[error("{0}")]
    NotPaused(String),
    /// The stored state cannot be read.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The agent or one of its skills cannot be used.
    #[error("{0}")]
    Agent(String),
    /// The loop could not start or continue.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Runner {
    /// Creates a runner over a Toolcrib that was built [`for_agents`](crate::Builder::for_agents),
    /// and reads the library folders.
    ///
    /// # Errors
    /// [`SetupError::NotForAgents`].
    pub fn new(toolcrib: Toolcrib, settings: RunnerSettings) -> Result<Self, SetupError> {
        let library = toolcrib.library().cloned().ok_or(SetupError::NotForAgents)?;
        let runner = Self {
            store: Arc::clone(toolcrib.runs()),
            toolcrib,
            clock: Arc::new(SystemClock),
            library,
            settings: Arc::new(settings),
            summaries: Arc::default(),
            refresh: Arc::new(NoRefresh),
            reloading: Arc::default(),
        };
        runner.reload();
        Ok(runner)
    }

    /// Adds a check before each request of its runs, such as for changed rules. It runs before the
    /// check for changed tools.
    #[must_use]
    pub fn with_refresh(mut self, refresh: Arc<dyn ToolRefresh>) -> Self {
        self.refresh = refresh;
        self
    }

    /// Returns the current library.
    #[must_use]
    pub fn library(&self) -> Arc<Library> {
        self.library.current()
    }

    /// Reads the library folders again; returns the problems.
    pub fn reload(&self) -> Vec<Problem> {
        // Only one reload at a time: one that started before a file was written must not replace a
        // later one.
        let _alone = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let library = library_loader::load_library(&self.toolcrib, &self.settings.folders);
        let problems = library.problems.clone();
        self.library.replace(library);
        problems
    }

    /// Returns the folders from which the library is read.
    #[must_use]
    pub fn folders(&self) -> &Folders {
        &self.settings.folders
    }

    /// Returns the names of all tools, enabled or not, for checking tool lists.
    #[must_use]
    pub fn tool_names(&self) -> Vec<ToolNames> {
        tool_names(&self.toolcrib)
    }

    /// Returns the price of a model; `None` if it is unknown.
    #[must_use]
    pub fn price(&self, provider: &str, model: &str) -> Option<Price> {
        self.settings.prices.find(provider, model)
    }

    /// Returns the context window that the owner configured for a model, in tokens.
    #[must_use]
    pub fn configured_window(&self, provider: &str, model: &str) -> Option<u64> {
        self.settings.windows.configured(provider, model)
    }

    /// Returns the store of conversations and runs.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn ConversationAndRunStore> {
        &self.store
    }

    /// Starts a run and drives it until it ends or pauses.
    ///
    /// # Errors
    /// [`RunnerError`] if the run cannot start or cannot be stored.
    pub async fn start(
        &self,
        start: StartRequest,
        on: &RunHandles,
    ) -> Result<RunReport, RunnerError> {
        self.start_as(RunId::fresh(), start, on).await
    }

    /// Starts a run under an id chosen by the caller.
    ///
    /// # Errors
    /// [`RunnerError`] if the run cannot start or cannot be stored.
    pub async fn start_as(
        &self,
        id: RunId,
        start: StartRequest,
        on: &RunHandles,
    ) -> Result<RunReport, RunnerError> {
        let skills = self.first_skills(&start.agent, start.skill.as_deref())?;
        let ConversationStart { history, topic, labels } = self.open(&start).await?;
        let rounds = start.limits.rounds(&start.agent);
        let mut machine =
            Machine::begin(id, start.conversation, history, start.message.clone(), rounds);
        machine.set_summary(self.summaries.get(start.conversation));
        machine.add_labels(&labels);
        machine.add_labels(&message_labels(&start));
        let mut texts = self.person_texts(&start.agent, &start.context.owner).await;
        let conversation = start.conversation.to_string();
        texts.ended_goals = self.ended_goals(&start.context.owner, &conversation).await;
        machine.add_labels(&person_texts::labels(&texts));
        for skill in skills {
            machine.activate(skill);
        }
        let start = StartRequest { context: Context { topic, ..start.context.clone() }, ..start };
        let job = self.job(&start, RunUsage::default(), None, texts);
        self.drive(machine, job, on).await
    }

    /// Resumes a run that is paused, or whose process has died. `start` repeats the original
    /// request; its message is ignored. The caller must make sure that no other process drives a
    /// run in state `running`. The engine continues calls in flight from their records.
    ///
    /// # Errors
    /// [`RunnerError`] if the run does not exist, is not paused, or cannot be stored.
    pub async fn resume(
        &self,
        run: StoredRun,
        start: StartRequest,
        on: &RunHandles,
    ) -> Result<RunReport, RunnerError> {
        // The claim names the epoch that was read, so only one of two processes succeeds.
        let taken = self.store.claim_run(run.id, run.epoch).await;
        let taken = taken.map_err(|error| match error {
            StoreError::Missing(_) => RunnerError::UnknownRun(run.id),
            StoreError::Conflict(status) => RunnerError::NotPaused(format!(
                "the run {} does not wait for a person: {status}",
                run.id
            )),
            error => RunnerError::Store(error),
        })?;
        let (machine, used) = match self.restore_machine(&taken).await {
            Ok(restored) => restored,
            Err(error) => return Err(self.release_run(taken, error).await?),
        };
        let texts = self.person_texts(&start.agent, &taken.context.owner).await;
        let job = self.job(&start, used, Some(&taken), texts);
        self.drive(machine, job, on).await
    }

    async fn restore_machine(&self, run: &StoredRun) -> Result<(Machine, RunUsage), RunnerError> {
        let messages = self.store.messages(run.conversation, 0).await?;
        let (machine, used, _) = toolcrib_agent::driver::restore(run, messages)?;
        Ok((machine, used))
    }

    /// Releases a claimed run that cannot be driven: it is paused again, for a version that can
    /// read it. If its conversation has continued without it, the run ends.
    async fn release_run(
        &self,
        run: StoredRun,
        why: RunnerError,
    ) -> Result<RunnerError, StoreError> {
        let (status, why) = match why {
            RunnerError::Restore(moved_on @ RestoreError::MovedOn(_)) => {
                (RunStatus::Ended, RunnerError::NotPaused(moved_on.to_string()))
            }
            why => (RunStatus::Paused, why),
        };
        self.store.put_run(StoredRun { status, ..run }).await?;
        Ok(why)
    }

    async fn drive(
        &self,
        mut machine: Machine,
        job: RunJob,
        on: &RunHandles,
    ) -> Result<RunReport, RunnerError> {
        let driver = Driver {
            invoker: Arc::new(self.toolcrib.engine().clone()),
            catalog: self.toolcrib.engine().shared_catalog(),
            store: Arc::clone(&self.store),
            approvals: Arc::new(MaskedApprovalStore {
                inner: Arc::clone(self.toolcrib.approvals()),
                sealing: self.toolcrib.engine().sealing().clone(),
            }),
            usage: Arc::clone(&self.toolcrib.stores().usage),
            clock: Arc::clone(&self.clock),
            human_input: Arc::clone(&on.person),
            windows: Arc::clone(&self.settings.windows),
            prices: Arc::clone(&self.settings.prices),
            compaction: self.settings.compaction,
            tool_selection: self.toolcrib.settings().discovery.offer,
            on_device_tools: self.toolcrib.on_device_tools().into(),
            request_tools: Arc::clone(&self.toolcrib.discovery.exposed),
            refresh: Arc::new(RefreshSequence {
                first: Arc::clone(&self.refresh),
                second: self.toolcrib.reload(),
            }),
            events: event_masking::mask_events(
                &on.events,
                &self.toolcrib.engine().sealing().secrets,
            ),
        };
        let driven = driver.drive(&mut machine, &job, &on.control).await?;
        let conversation = machine.state().conversation;
        if let DriveOutcome::Ended(end) = &driven {
            self.toolcrib.end_run(machine.state().run);
            // Stopping a run also stops the background processes that it started.
            if *end == RunEnd::Stopped {
                let Context { owner, conversation, .. } = &*job.context;
                self.toolcrib.end_conversation(owner, conversation);
            }
        }
        if let Some(summary) = &machine.state().summary {
            self.summaries.insert(conversation, summary.clone());
        }
        Ok(RunReport {
            run: machine.state().run,
            conversation,
            driven,
            text: self.toolcrib.engine().sealing().secrets.mask(machine.answer().to_owned()),
            left_over: on.control.take_messages(),
        })
    }

    /// Loads the conversation, or creates a new one.
    async fn open(&self, start: &StartRequest) -> Result<ConversationStart, RunnerError> {
        let now = self.clock.now_ms();
        let known = self.store.conversation(start.conversation).await?;
        let is_new = known.is_none();
        let conversation = Conversation {
            id: start.conversation,
            owner: start.context.owner.clone(),
            title: known.as_ref().map_or_else(
                || {
                    title(
                        &self.toolcrib.engine().sealing().secrets.mask(start.message.text.clone()),
                    )
                },
                |c| c.title.clone(),
            ),
            agent: start.agent.name.clone(),
            workspace: start.context.workspace.clone(),
            created_at: known.as_ref().map_or(now, |c| c.created_at),
            updated_at: now,
        };
        let topic = conversation.title.clone();
        if is_new {
            self.store.put_conversation(conversation).await?;
            return Ok(ConversationStart { history: Vec::new(), topic, labels: Labels::default() });
        }
        // A conversation that was deleted in the meantime is not created again.
        self.store.change_conversation(conversation).await?;
        let messages = self.store.messages(start.conversation, 0).await?;
        let labels = restored_labels::conversation_labels(&*self.store, &messages).await?;
        let broken = |error| RunnerError::Restore(RestoreError::Broken(error));
        let history: Result<_, _> = messages
            .into_iter()
            .map(|message| serde_json::from_value(message.body).map(Arc::new).map_err(broken))
            .collect();
        Ok(ConversationStart { history: history?, topic, labels })
    }

    fn first_skills(
        &self,
        agent: &Agent,
        extra: Option<&str>,
    ) -> Result<Vec<ActiveSkill>, RunnerError> {
        let library = self.library();
        // An agent works without a disabled skill of its file.
        let is_on = |name: &&String| !library.skills_off.iter().any(|skill| skill.name == **name);
        let names = agent.skills.iter().filter(is_on).map(String::as_str).chain(extra);
        names
            .map(|name| {
                let skill =
                    library.skill(name).map_err(|error| RunnerError::Agent(error.to_string()))?;
                Ok(ActiveSkill {
                    name: skill.name.clone(),
                    allowed_tools: skill.allowed_tools.clone(),
                    in_prompt: true,
                })
            })
            .collect()
    }
}

/// The conversation at the start of a run.
struct ConversationStart {
    /// Its messages.
    history: Vec<Arc<Message>>,
    /// Its topic.
    topic: String,
    /// Its taint labels.
    labels: Labels,
}

/// Returns the first words of a message as the title of a conversation.
fn title(text: &str) -> String {
    const CHARS: usize = 60;
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    if line.chars().count() <= CHARS {
        return line.to_owned();
    }
    line.chars().take(CHARS).chain(['…']).collect()
}

/// Returns the taint labels that the message of a run raises.
fn message_labels(start: &StartRequest) -> Labels {
    let mut labels = Labels::default();
    if let Some(source) = &start.untrusted {
        let (tool, source) = (MESSAGE.to_owned(), Some(source.clone()));
        labels.raise(Label::Untrusted, LabelSource { call: None, tool, source });
    }
    labels
}
