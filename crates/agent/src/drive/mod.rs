//! The driver: does what the machine asks for. It asks models, runs calls through the door, waits for people, and stores the run after
//! every step.

mod ask;
mod calls;
mod checkpoint;
mod compact;
mod control;
mod people;
mod question;
mod sent;
#[cfg(test)]
mod tests;
mod tools;

use std::sync::Arc;

use toolcrib_core::{
    ApprovalStore, BoxFuture, Catalog, Checkpoints, Clock, Context, Invoker, RunLimits, RunSpec,
    RunStatus, RunUsage, StoreError, ToolError, UsageStore, ViewRequest,
};
use toolcrib_providers::model::{Model, ModelInfo};

use crate::context::{CompactionRules, Money, Prices, Windows};
use crate::events::{Event, EventSink, Waiting};
use crate::machine::{ActiveSkill, End, Machine, Next, Pending, Waits};
use crate::offer::{Exposed, OfferRules, Offered};

pub use checkpoint::{RestoreError, labels, restore};
pub use control::Control;
pub use people::{NobodyAnswers, Person};

/// What a driver works with, for any number of runs.
#[derive(Clone)]
pub struct Driver {
    /// The door.
    pub invoker: Arc<dyn Invoker>,
    /// The registry.
    pub catalog: Arc<dyn Catalog>,
    /// Where runs and messages are kept.
    pub store: Arc<dyn Checkpoints>,
    /// Where questions to people are kept: the same that the door uses.
    pub approvals: Arc<dyn ApprovalStore>,
    /// Where it is written down what models used.
    pub usage: Arc<dyn UsageStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Who answers questions of the model.
    pub person: Arc<dyn Person>,
    /// Window sizes of models.
    pub windows: Arc<Windows>,
    /// Prices of models.
    pub prices: Arc<Prices>,
    /// When older messages are replaced by a summary.
    pub compaction: CompactionRules,
    /// How tools get into requests.
    pub offer: OfferRules,
    /// What requests carry, for tools that add to it.
    pub exposed: Arc<Exposed>,
    /// Looks for tools that changed, before each request.
    pub refresh: Arc<dyn Refresh>,
    /// Who is told what happens.
    pub events: EventSink,
}

/// Looks whether sources of tools changed, and loads them again.
pub trait Refresh: Send + Sync {
    /// Looks once; what people should know of it, in words.
    fn refresh(&self) -> BoxFuture<'_, Vec<String>>;
}

/// Tools that do not change while a run works.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingChanges;

impl Refresh for NothingChanges {
    fn refresh(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// Writes the system prompt for a model that is told of these tools while these skills are active.
pub type PromptWriter = Arc<dyn Fn(&Offered, &[ActiveSkill], &ModelInfo) -> String + Send + Sync>;

/// What one run is made of, besides its machine.
#[derive(Clone)]
pub struct Job {
    /// The models, in the order in which they are asked; the first is the one that was chosen.
    pub models: Vec<Arc<dyn Model>>,
    /// Whose run it is.
    pub context: Arc<Context>,
    /// Id of the agent.
    pub agent: String,
    /// Which tools it sees; skills and the model limit it further.
    pub view: ViewRequest,
    /// Writes the system prompt.
    pub prompt: PromptWriter,
    /// Temperature, 0 to 2.
    pub temperature: Option<f64>,
    /// Most tokens of one answer.
    pub max_output: Option<u64>,
    /// Whether answers are streamed.
    pub stream: bool,
    /// Calls, tokens and time.
    pub limits: RunLimits,
    /// Money, where prices are known.
    pub cost: Option<Money>,
    /// What was used before this process took the run over.
    pub used: RunUsage,
    /// The run's place in the store, with its fencing number.
    pub epoch: u64,
    /// Whether another process began it.
    pub resumed: bool,
    /// What another process needs to make this job again; kept as it is.
    pub setup: serde_json::Value,
}

/// How driving ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Driven {
    /// The run is over.
    Ended(End),
    /// It waits for people, and is stored.
    Paused(Vec<Pending>),
}

/// Why a run could not be driven on.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DriveError {
    /// There is no model to ask.
    #[error("no model is configured")]
    NoModel,
    /// The run could not be opened.
    #[error("{}", .0.message)]
    Run(ToolError),
    /// The run could not be stored, or somebody else has taken it: nothing more of it runs here, and whoever takes it up goes on from what is
    /// stored.
    #[error("the run could not be stored: {0}")]
    Store(StoreError),
    /// It was put down ([`Control::leave`]): it is stored as it is, `running`, and whoever takes it up goes on with it.
    #[error("the run was put down; it goes on where somebody takes it up")]
    Left,
}

impl Driver {
    /// Drives a run until it is over or waits for people.
    ///
    /// # Errors
    /// [`DriveError`] when it cannot begin, or cannot be stored.
    pub async fn drive(
        &self,
        machine: &mut Machine,
        job: &Job,
        control: &Control,
    ) -> Result<Driven, DriveError> {
        let primary = job.models.first().ok_or(DriveError::NoModel)?;
        let id = machine.state().run;
        let spec = RunSpec {
            id: Some(id),
            used: job.used,
            limits: job.limits,
            labels: machine.state().labels.clone(),
            ..RunSpec::default()
        };
        self.invoker.open_run(spec).map_err(DriveError::Run)?;
        let open = OpenRun { driver: self, run: id };
        let info = primary.info();
        machine.begun(self.clock.now_ms());
        let mut work = Work::new(self, job, control, machine);
        // Before anybody hears of it: whoever does can wait until it is stored.
        work.checkpoint(machine, RunStatus::Running);
        self.tell(Event::RunStart {
            run: id,
            conversation: machine.state().conversation,
            agent: job.agent.clone(),
            provider: info.provider.clone(),
            model: info.model.clone(),
            scripted: info.scripted,
            resumed: job.resumed,
        });
        let Some(driven) = work.steps(machine).await.map_err(DriveError::Store)? else {
            work.checkpoint(machine, RunStatus::Running);
            drop(open);
            work.kept(machine, RunStatus::Running).await.map_err(DriveError::Store)?;
            return Err(DriveError::Left);
        };
        let status = match driven {
            Driven::Ended(_) => RunStatus::Ended,
            Driven::Paused(_) => RunStatus::Paused,
        };
        work.checkpoint(machine, status);
        drop(open);
        let stored = work.kept(machine, status).await;
        match (&driven, stored) {
            // Whoever took it over goes on with it: what was done here since is not what becomes of it.
            (_, Err(fenced @ StoreError::Fenced { .. })) => return Err(DriveError::Store(fenced)),
            (Driven::Paused(_), Err(error)) => return Err(DriveError::Store(error)),
            // What was done is done, and its answer is there: it is not thrown away because it cannot be kept.
            (Driven::Ended(_), Err(error)) => {
                let text = format!(
                    "the run could not be stored, so nobody can go on with its conversation: {error}"
                );
                self.tell(Event::Notice { text });
            }
            (_, Ok(())) => {}
        }
        self.tell(last_event(machine, &driven));
        Ok(driven)
    }

    fn tell(&self, event: Event) {
        (self.events)(event);
    }
}

/// A run that is closed whatever happens to whoever waits for it.
struct OpenRun<'a> {
    driver: &'a Driver,
    run: toolcrib_core::RunId,
}

impl Drop for OpenRun<'_> {
    fn drop(&mut self) {
        self.driver.exposed.forget(self.run);
        self.driver.invoker.close_run(self.run);
    }
}

/// One run at work.
struct Work<'a> {
    driver: &'a Driver,
    job: &'a Job,
    control: &'a Control,
    /// Messages that are in the store as they will stay; those from here on are written at the next checkpoint.
    saved: usize,
    /// The calls of the newest answer.
    calls: Arc<calls::Calls>,
    /// Models that will not answer in this run, by their place in the chain.
    dead: Vec<usize>,
    /// Tokens of the newest request, an estimate.
    last_estimate: u64,
    /// Whether the time of the run was over while a model was asked.
    out_of_time: bool,
    /// Length of the history before which no summary is tried again.
    no_summary_before: usize,
    sent: sent::Cache,
    /// Whether the calls that come next may have been sent before, by a process that has died.
    again: bool,
    /// Why the run cannot be stored any more, so that it must not go on.
    lost: Option<StoreError>,
}

impl<'a> Work<'a> {
    fn new(driver: &'a Driver, job: &'a Job, control: &'a Control, machine: &Machine) -> Self {
        let calls = calls::Calls::of(&driver.events, 0, &[]);
        Self {
            driver,
            job,
            control,
            // A run that was taken over was read from the store.
            saved: if job.resumed { checkpoint::settled(machine.history()) } else { 0 },
            calls: Arc::new(calls),
            dead: Vec::new(),
            last_estimate: 0,
            out_of_time: false,
            no_summary_before: 0,
            sent: sent::Cache::default(),
            again: job.resumed,
            lost: None,
        }
    }

    /// Step after step; `None` = it is put down where it stands.
    async fn steps(&mut self, machine: &mut Machine) -> Result<Option<Driven>, StoreError> {
        let control = self.control;
        loop {
            self.read_inbox(machine);
            if control.is_stopped() {
                self.withdraw(machine).await;
                machine.stop();
            }
            self.calls.settle(machine);
            if control.is_left() && !matches!(machine.next(), Next::Done(_)) {
                return Ok(None);
            }
            // A step changes the machine only between two waits, so one that is dropped leaves it whole.
            let driven = tokio::select! {
                biased;
                driven = self.step(machine) => driven,
                () = control.gone() => None,
            };
            if driven.is_some() {
                return Ok(driven);
            }
            if let Some(error) = self.lost.take() {
                return Err(error);
            }
            self.checkpoint(machine, RunStatus::Running);
        }
    }

    /// Does what is to be done next; `Some` = there is nothing left to do here.
    async fn step(&mut self, machine: &mut Machine) -> Option<Driven> {
        match machine.next() {
            Next::CallModel(_) => {
                self.again = false;
                self.ask_model(machine).await;
                None
            }
            Next::CallTools(_) => {
                self.run_tools(machine).await;
                None
            }
            Next::AskPerson(_) => self.ask_people(machine).await.map(Driven::Paused),
            Next::Done(end) => Some(Driven::Ended(end.clone())),
        }
    }

    /// What was said since the last time; done before each boundary, so that it is injected there and not at the next.
    fn read_inbox(&self, machine: &mut Machine) {
        if let Next::Done(_) = machine.next() {
            // Whoever started the run takes what comes too late.
            return;
        }
        for message in self.control.take() {
            let text = message.text.clone();
            if machine.queue(message).is_ok() {
                let kind = toolcrib_providers::chat::UserKind::Queued;
                self.driver.tell(Event::Message { kind, text });
            }
        }
    }
}

fn last_event(machine: &Machine, driven: &Driven) -> Event {
    let state = machine.state();
    match driven {
        Driven::Ended(end) => Event::RunEnd {
            run: state.run,
            status: end.as_str(),
            message: match end {
                End::Failed { message, .. } | End::Budget { message } => Some(message.clone()),
                _ => None,
            },
            text: machine.answer().to_owned(),
            rounds: state.rounds,
            calls: state.calls,
            usage: state.spent.usage,
            cost: state.spent.cost,
            tokens_saved: state.spent.tokens_saved,
        },
        Driven::Paused(pending) => Event::RunPaused {
            run: state.run,
            status: pause_status(pending),
            waiting: pending.iter().map(waiting).collect(),
        },
    }
}

/// What a paused run reports (DESIGN 9, ask_user: `clarification_needed`).
fn pause_status(pending: &[Pending]) -> &'static str {
    let asks = pending.iter().any(|wait| matches!(wait.what, Waits::Answer(_)));
    if asks { "clarification_needed" } else { "approval_needed" }
}

fn waiting(pending: &Pending) -> Waiting {
    match &pending.what {
        Waits::Approval(request) => Waiting::Approval(request.clone()),
        Waits::Answer(question) => {
            let (call, approval) = (pending.call, pending.approval());
            Waiting::Answer { call, approval, question: question.clone() }
        }
    }
}
