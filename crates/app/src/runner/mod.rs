//! Running agents: the loop of `agent` over this Toolcrib's door, store and library.

mod approver;
mod job;
mod labels;
mod library;
mod limits;
mod masked;
mod summaries;

use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_agent::context::{CompactionRules, Price, Prices, Windows};
use toolcrib_agent::drive::{Control, DriveError, Driven, Driver, Job, Person, RestoreError};
use toolcrib_agent::events::EventSink;
use toolcrib_agent::library::{Agent, Folder, Folders, Library, LibraryHandle, Problem, ToolNames};
use toolcrib_agent::machine::{ActiveSkill, End, Machine};
use toolcrib_core::{
    Checkpoints, Clock, Context, Conversation, ConversationId, Labels, RunId, RunStatus, RunUsage,
    StoreError, StoredRun, SystemClock,
};
use toolcrib_providers::chat::{Message, UserMessage};
use toolcrib_providers::model::Model;

use crate::kept::MaskedApprovals;
use crate::settings::SetupError;
use crate::toolcrib::Toolcrib;
use summaries::Summaries;

pub use approver::{AskLater, WaitForDecision};
pub use labels::of_run as labels_of_run;
pub use limits::{LimitError, RunnerLimits};

/// What a runner is set up with.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// Where agents, skills, kits and guides are read from.
    pub folders: Folders,
    /// Workspace folder, for `AGENTS.md` and the system prompt.
    pub workspace: Option<PathBuf>,
    /// Window sizes of models.
    pub windows: Arc<Windows>,
    /// Prices of models.
    pub prices: Arc<Prices>,
    /// When older messages are replaced by a summary.
    pub compaction: CompactionRules,
}

/// Runs agents. Cheap to clone.
#[derive(Clone)]
pub struct Runner {
    toolcrib: Toolcrib,
    store: Arc<dyn Checkpoints>,
    clock: Arc<dyn Clock>,
    library: LibraryHandle,
    settings: Arc<RunnerSettings>,
    summaries: Arc<Summaries>,
}

/// A run to be started.
pub struct Start {
    /// What is said.
    pub message: UserMessage,
    /// Who answers.
    pub agent: Agent,
    /// The models, in the order in which they are asked.
    pub models: Vec<Arc<dyn Model>>,
    /// The conversation; a new id begins one.
    pub conversation: ConversationId,
    /// Whose run it is; agent and conversation are filled in.
    pub context: Context,
    /// What it may use; the agent's own limits hold where these say nothing.
    pub limits: RunnerLimits,
    /// A skill that is active from the start, beside the agent's own.
    pub skill: Option<String>,
    /// Whether answers are streamed.
    pub stream: bool,
    /// What another process needs to make this run's surroundings again; kept as it is.
    pub setup: serde_json::Value,
}

/// How a run ended, or where it waits.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The run.
    pub run: RunId,
    /// Its conversation.
    pub conversation: ConversationId,
    /// How it ended, or what it waits for.
    pub driven: Driven,
    /// Text of the newest answer.
    pub text: String,
    /// Messages that came too late for it.
    pub left_over: Vec<UserMessage>,
}

/// Who looks on and who answers while a run works.
#[derive(Clone)]
pub struct Surfaces {
    /// Stops it, and takes messages for it.
    pub control: Control,
    /// Is told what happens.
    pub events: EventSink,
    /// Answers questions of the model.
    pub person: Arc<dyn Person>,
}

/// Why a run could not be started or taken up.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// There is no such run.
    #[error("there is no run {0}; `toolcrib resume --list` shows those that wait")]
    UnknownRun(RunId),
    /// It does not wait for anybody.
    #[error("{0}")]
    NotPaused(String),
    /// The stored form cannot be read.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The agent or a skill of it cannot be used.
    #[error("{0}")]
    Agent(String),
    /// The loop could not begin or go on.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Runner {
    /// A runner over a Toolcrib that was built [`for_agents`](crate::Builder::for_agents); reads the library's folders.
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
        };
        runner.reload();
        Ok(runner)
    }

    /// The library as it is now.
    #[must_use]
    pub fn library(&self) -> Arc<Library> {
        self.library.current()
    }

    /// Reads the library's folders again, and says what is wrong with them.
    pub fn reload(&self) -> Vec<Problem> {
        let library = library::load(&self.toolcrib, &self.settings.folders);
        let problems = library.problems.clone();
        self.library.replace(library);
        problems
    }

    /// The library as it would be if its agents were those of this folder; nothing is put into force.
    #[must_use]
    pub fn library_with(&self, agents: Folder) -> Library {
        let folders = Folders { agents: vec![agents], ..self.settings.folders.clone() };
        library::load(&self.toolcrib, &folders)
    }

    /// The names of all tools, enabled or not, as lists of tools mean them.
    #[must_use]
    pub fn tool_names(&self) -> Vec<ToolNames> {
        library::tool_names(&self.toolcrib)
    }

    /// The handle of the library, for the tool that loads skills.
    #[must_use]
    pub fn library_handle(&self) -> LibraryHandle {
        self.library.clone()
    }

    /// The price of a model; `None` = nobody knows it.
    #[must_use]
    pub fn price(&self, provider: &str, model: &str) -> Option<Price> {
        self.settings.prices.of(provider, model)
    }

    /// Where conversations and runs are kept.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Checkpoints> {
        &self.store
    }

    /// Starts a run and drives it until it is over or waits.
    ///
    /// # Errors
    /// [`RunnerError`] when it cannot begin, or cannot be stored.
    pub async fn start(&self, start: Start, on: &Surfaces) -> Result<Finished, RunnerError> {
        self.start_as(RunId::fresh(), start, on).await
    }

    /// The same under an id that the caller has made.
    ///
    /// # Errors
    /// [`RunnerError`] when it cannot begin, or cannot be stored.
    pub async fn start_as(
        &self,
        id: RunId,
        start: Start,
        on: &Surfaces,
    ) -> Result<Finished, RunnerError> {
        let skills = self.first_skills(&start.agent, start.skill.as_deref())?;
        let Opened { history, topic, labels } = self.open(&start).await?;
        let rounds = start.limits.rounds(&start.agent);
        let mut machine =
            Machine::begin(id, start.conversation, history, start.message.clone(), rounds);
        machine.summarised(self.summaries.of(start.conversation));
        machine.labelled(&labels);
        for skill in skills {
            machine.activate(skill);
        }
        let start = Start { context: Context { topic, ..start.context.clone() }, ..start };
        let job = self.job(&start, RunUsage::default(), None);
        self.drive(machine, job, on).await
    }

    /// Takes up a run that waits, or whose process has died: `start` says again what another process said at first, its message is not used.
    /// Whoever calls has made sure that a `running` one is worked on by nobody; of its calls that were under way, the door
    /// looks up what is recorded (DESIGN 4, Crash rule).
    ///
    /// # Errors
    /// [`RunnerError`] when there is no such run, it does not wait, or cannot be stored.
    pub async fn resume(
        &self,
        run: StoredRun,
        start: Start,
        on: &Surfaces,
    ) -> Result<Finished, RunnerError> {
        // Under the epoch at which it was read: of two that found it left behind, one takes it.
        let taken = self.store.take_run(run.id, run.epoch).await;
        let taken = taken.map_err(|error| match error {
            StoreError::Missing(_) => RunnerError::UnknownRun(run.id),
            StoreError::Conflict(status) => RunnerError::NotPaused(format!(
                "the run {} does not wait for anybody: {status}",
                run.id
            )),
            error => RunnerError::Store(error),
        })?;
        let (machine, used) = match self.restored(&taken).await {
            Ok(restored) => restored,
            Err(error) => return Err(self.give_back(taken, error).await?),
        };
        let job = self.job(&start, used, Some(&taken));
        self.drive(machine, job, on).await
    }

    async fn restored(&self, run: &StoredRun) -> Result<(Machine, RunUsage), RunnerError> {
        let messages = self.store.messages(run.conversation, 0).await?;
        let (machine, used, _) = toolcrib_agent::drive::restore(run, messages)?;
        Ok((machine, used))
    }

    /// A run that was taken and cannot be driven waits again, for a version that can read it; one whose conversation has gone on without it
    /// is over.
    async fn give_back(&self, run: StoredRun, why: RunnerError) -> Result<RunnerError, StoreError> {
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
        job: Job,
        on: &Surfaces,
    ) -> Result<Finished, RunnerError> {
        let driver = Driver {
            invoker: Arc::new(self.toolcrib.engine().clone()),
            catalog: self.toolcrib.engine().shared_catalog(),
            store: Arc::clone(&self.store),
            approvals: Arc::new(MaskedApprovals {
                inner: Arc::clone(self.toolcrib.approvals()),
                sealing: self.toolcrib.engine().sealing().clone(),
            }),
            usage: Arc::clone(&self.toolcrib.stores().usage),
            clock: Arc::clone(&self.clock),
            person: Arc::clone(&on.person),
            windows: Arc::clone(&self.settings.windows),
            prices: Arc::clone(&self.settings.prices),
            compaction: self.settings.compaction,
            offer: self.toolcrib.settings().discovery.offer,
            exposed: Arc::clone(&self.toolcrib.discovery.exposed),
            refresh: self.toolcrib.reload(),
            events: masked::masked(&on.events, &self.toolcrib.engine().sealing().secrets),
        };
        let driven = driver.drive(&mut machine, &job, &on.control).await?;
        let conversation = machine.state().conversation;
        if let Driven::Ended(end) = &driven {
            self.toolcrib.end_run(machine.state().run);
            // Whoever stops a run means what it has started, too (DESIGN 9, Background processes).
            if *end == End::Stopped {
                let Context { owner, conversation, .. } = &*job.context;
                self.toolcrib.end_conversation(owner, conversation);
            }
        }
        if let Some(summary) = &machine.state().summary {
            self.summaries.keep(conversation, summary.clone());
        }
        Ok(Finished {
            run: machine.state().run,
            conversation,
            driven,
            text: self.toolcrib.engine().sealing().secrets.mask(machine.answer().to_owned()),
            left_over: on.control.take(),
        })
    }

    /// The conversation so far; a new one is begun.
    async fn open(&self, start: &Start) -> Result<Opened, RunnerError> {
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
            return Ok(Opened { history: Vec::new(), topic, labels: Labels::default() });
        }
        // One that was deleted since then does not come back.
        self.store.change_conversation(conversation).await?;
        let messages = self.store.messages(start.conversation, 0).await?;
        let labels = labels::of_conversation(&*self.store, &messages).await?;
        let broken = |error| RunnerError::Restore(RestoreError::Broken(error));
        let history: Result<_, _> = messages
            .into_iter()
            .map(|message| serde_json::from_value(message.body).map(Arc::new).map_err(broken))
            .collect();
        Ok(Opened { history: history?, topic, labels })
    }

    fn first_skills(
        &self,
        agent: &Agent,
        extra: Option<&str>,
    ) -> Result<Vec<ActiveSkill>, RunnerError> {
        let library = self.library();
        let names = agent.skills.iter().map(String::as_str).chain(extra);
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

/// A conversation that a run begins in.
struct Opened {
    /// Its messages so far.
    history: Vec<Arc<Message>>,
    /// What it is about.
    topic: String,
    /// What was read in it.
    labels: Labels,
}

/// The first words of a message, for lists of conversations.
fn title(text: &str) -> String {
    const CHARS: usize = 60;
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    if line.chars().count() <= CHARS {
        return line.to_owned();
    }
    line.chars().take(CHARS).chain(['…']).collect()
}
