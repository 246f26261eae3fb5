//! The driver: performs the steps of the machine. It asks models, runs calls through the invoker,
//! waits for people, and stores the run after every step.

mod approvals;
mod ask_model;
mod call_events;
mod checkpoint;
mod preview;
mod request_context;
mod request_summary;
mod run_calls;
mod run_control;
#[cfg(test)]
mod tests;
mod user_questions;

use std::sync::Arc;

use toolcrib_core::{
    ApprovalStore, BoxFuture, Catalog, Clock, Context, ConversationAndRunStore, Invoker, RunLimits,
    RunSpec, RunStatus, RunUsage, StoreError, ToolError, UsageStore, ViewRequest,
};
use toolcrib_providers::model::{Model, ModelInfo};

use crate::context::{CompactionRules, ContextWindows, Money, Prices};
use crate::events::{Event, EventSink, PendingInput};
use crate::machine::{ActiveSkill, Machine, NextStep, Pending, PendingKind, RunEnd};
use crate::tool_selection::{ActiveRequestTools, SelectedTools, ToolSelectionRules};

pub use approvals::{HumanInput, NoHumanInput};
pub use checkpoint::{RestoreError, labels, restore};
pub use preview::{DeclarationsPreview, preview_declarations};
pub use run_control::RunControl;

/// Dependencies of the driver, shared by any number of runs.
#[derive(Clone)]
pub struct Driver {
    /// The entry to the pipeline.
    pub invoker: Arc<dyn Invoker>,
    /// The registry.
    pub catalog: Arc<dyn Catalog>,
    /// Store of runs and messages.
    pub store: Arc<dyn ConversationAndRunStore>,
    /// Store of approvals and questions: the same that the engine uses.
    pub approvals: Arc<dyn ApprovalStore>,
    /// Store of model usage.
    pub usage: Arc<dyn UsageStore>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Answers questions of the model.
    pub human_input: Arc<dyn HumanInput>,
    /// Context windows of models.
    pub windows: Arc<ContextWindows>,
    /// Prices of models.
    pub prices: Arc<Prices>,
    /// The rules for replacing older messages by a summary.
    pub compaction: CompactionRules,
    /// The rules for selecting the tools of a request.
    pub tool_selection: ToolSelectionRules,
    /// Tools that a model on this device may receive, as entries of tool lists.
    pub on_device_tools: Arc<[String]>,
    /// The declared tools of active runs, for tools that add to them.
    pub request_tools: Arc<ActiveRequestTools>,
    /// Checks for changed tools before each request.
    pub refresh: Arc<dyn ToolRefresh>,
    /// Receives events.
    pub events: EventSink,
}

/// Checks whether sources of tools changed, and reloads them.
pub trait ToolRefresh: Send + Sync {
    /// Checks once; returns notices for the user.
    fn refresh(&self) -> BoxFuture<'_, Vec<String>>;
}

/// Tools that do not change while a run is working.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRefresh;

impl ToolRefresh for NoRefresh {
    fn refresh(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// Writes the system prompt for a model with these tools and active skills.
pub type PromptWriter =
    Arc<dyn Fn(&SelectedTools, &[ActiveSkill], &ModelInfo) -> String + Send + Sync>;

/// The parameters of one run, besides its machine.
#[derive(Clone)]
pub struct RunJob {
    /// The models in the order of fallback; the first is the chosen one.
    pub models: Vec<Arc<dyn Model>>,
    /// Owner and origin of the run.
    pub context: Arc<Context>,
    /// Id of the agent.
    pub agent: String,
    /// The tools that it sees; skills and the model limit them further.
    pub view: ViewRequest,
    /// Writes the system prompt.
    pub prompt: PromptWriter,
    /// Temperature, 0 to 2.
    pub temperature: Option<f64>,
    /// Limit of output tokens per answer.
    pub max_output: Option<u64>,
    /// Whether answers are streamed.
    pub stream: bool,
    /// Limits of calls, tokens and time.
    pub limits: RunLimits,
    /// Maximum cost, if prices are known.
    pub cost: Option<Money>,
    /// Usage before this process took over the run.
    pub used: RunUsage,
    /// Fencing epoch of the stored run.
    pub epoch: u64,
    /// Whether another process started it.
    pub resumed: bool,
    /// Data from which another process can build this job again; stored as it is.
    pub setup: serde_json::Value,
}

/// Result of driving a run.
#[derive(Debug, Clone, PartialEq)]
pub enum DriveOutcome {
    /// The run has ended.
    Ended(RunEnd),
    /// The run waits for people, and is stored.
    Paused(Vec<Pending>),
}

/// The reasons why a run could not be driven.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DriveError {
    /// There is no model to ask.
    #[error("no model is configured")]
    NoModel,
    /// The run could not be opened.
    #[error("{}", .0.message)]
    Run(ToolError),
    /// The run could not be stored, or another process has taken it over: this process stops, and a
    /// later one continues from the stored state.
    #[error("the run could not be stored: {0}")]
    Store(StoreError),
    /// The run was handed over ([`RunControl::hand_over`]): it is stored as `running`, and another
    /// process can continue it.
    #[error("the run was handed over; another process continues it")]
    HandedOver,
}

impl Driver {
    /// Drives a run until it ends or waits for people.
    ///
    /// # Errors
    /// [`DriveError`] if it cannot start or cannot be stored.
    pub async fn drive(
        &self,
        machine: &mut Machine,
        job: &RunJob,
        control: &RunControl,
    ) -> Result<DriveOutcome, DriveError> {
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
        machine.set_begun_at(self.clock.now_ms());
        let mut work = RunDriver::new(self, job, control, machine);
        // Checkpoint first: a subscriber to RunStart may rely on the run being stored.
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
            work.save(machine, RunStatus::Running).await.map_err(DriveError::Store)?;
            return Err(DriveError::HandedOver);
        };
        let status = match driven {
            DriveOutcome::Ended(_) => RunStatus::Ended,
            DriveOutcome::Paused(_) => RunStatus::Paused,
        };
        work.checkpoint(machine, status);
        drop(open);
        let stored = work.save(machine, status).await;
        match (&driven, stored) {
            // The process that took over the run continues it; this process's result does not
            // count.
            (_, Err(fenced @ StoreError::Fenced { .. })) => return Err(DriveError::Store(fenced)),
            (DriveOutcome::Paused(_), Err(error)) => return Err(DriveError::Store(error)),
            // The calls have run and the answer exists: a failure to store the run must not discard
            // it.
            (DriveOutcome::Ended(_), Err(error)) => {
                let text = format!(
                    "the run could not be stored, so no process can continue its conversation: {error}"
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

/// A run that is closed even if its future is dropped.
struct OpenRun<'a> {
    driver: &'a Driver,
    run: toolcrib_core::RunId,
}

impl Drop for OpenRun<'_> {
    fn drop(&mut self) {
        self.driver.request_tools.forget(self.run);
        self.driver.invoker.close_run(self.run);
    }
}

/// One active run.
struct RunDriver<'a> {
    driver: &'a Driver,
    job: &'a RunJob,
    control: &'a RunControl,
    /// Number of messages that are stored in their final form; the next checkpoint writes the
    /// others.
    saved: usize,
    /// The calls of the newest answer.
    calls: Arc<call_events::CallEvents>,
    /// Models that failed permanently in this run, by their index in the chain.
    dead: Vec<usize>,
    /// Estimated tokens of the newest request.
    last_estimate: u64,
    /// Whether the run reached its time limit during a request to a model.
    out_of_time: bool,
    /// Length of the history below which no further summary is attempted.
    no_summary_before: usize,
    sent: request_context::RequestCache,
    /// Whether a process that died may already have sent the next calls.
    may_repeat_calls: bool,
    /// The reason why the run cannot be stored any more; it must not continue then.
    lost: Option<StoreError>,
}

impl<'a> RunDriver<'a> {
    fn new(
        driver: &'a Driver,
        job: &'a RunJob,
        control: &'a RunControl,
        machine: &Machine,
    ) -> Self {
        let calls = call_events::CallEvents::for_new_calls(&driver.events, 0, &[]);
        Self {
            driver,
            job,
            control,
            // The history of a resumed run comes from the store.
            saved: if job.resumed {
                checkpoint::count_final_messages(machine.history())
            } else {
                0
            },
            calls: Arc::new(calls),
            dead: Vec::new(),
            last_estimate: 0,
            out_of_time: false,
            no_summary_before: 0,
            sent: request_context::RequestCache::default(),
            may_repeat_calls: job.resumed,
            lost: None,
        }
    }

    /// Runs step after step; `None` if the run is handed over.
    async fn steps(&mut self, machine: &mut Machine) -> Result<Option<DriveOutcome>, StoreError> {
        let control = self.control;
        loop {
            self.read_inbox(machine);
            if control.is_stopped() {
                self.withdraw(machine).await;
                self.announce_open(machine);
                machine.stop();
            }
            let unsent = self.calls.close_answered(machine);
            self.record_unsent(machine, unsent).await;
            if control.is_handing_over() && !matches!(machine.next(), NextStep::Done(_)) {
                return Ok(None);
            }
            // A step changes the machine only between two awaits, so a dropped step leaves it
            // consistent.
            let driven = tokio::select! {
                biased;
                driven = self.step(machine) => driven,
                () = control.wait_hand_over_now() => None,
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

    /// Performs the next step; `Some` if nothing is left to do here.
    async fn step(&mut self, machine: &mut Machine) -> Option<DriveOutcome> {
        match machine.next() {
            NextStep::CallModel(_) => {
                self.may_repeat_calls = false;
                self.ask_model(machine).await;
                None
            }
            NextStep::CallTools(_) => {
                self.run_tools(machine).await;
                None
            }
            NextStep::AskPerson(_) => self.ask_pending(machine).await.map(DriveOutcome::Paused),
            NextStep::Done(end) => Some(DriveOutcome::Ended(end.clone())),
        }
    }

    /// Takes queued messages; called before each request, so that they are inserted there.
    fn read_inbox(&self, machine: &mut Machine) {
        if let NextStep::Done(_) = machine.next() {
            // The caller that started the run takes late messages.
            return;
        }
        for message in self.control.take_messages() {
            let (text, images) = (message.text.clone(), message.images.len());
            if machine.queue(message).is_ok() {
                let kind = toolcrib_providers::conversation::UserKind::Queued;
                self.driver.tell(Event::Message { kind, text, images });
            }
        }
    }
}

fn last_event(machine: &Machine, driven: &DriveOutcome) -> Event {
    let state = machine.state();
    match driven {
        DriveOutcome::Ended(end) => Event::RunEnd {
            run: state.run,
            status: end.as_str(),
            message: match end {
                RunEnd::Failed { message, .. } | RunEnd::Budget { message } => {
                    Some(message.clone())
                }
                _ => None,
            },
            text: machine.answer().to_owned(),
            rounds: state.rounds,
            calls: state.calls,
            usage: state.spent.usage,
            cost: state.spent.cost,
            tokens_saved: state.spent.tokens_saved,
        },
        DriveOutcome::Paused(pending) => Event::RunPaused {
            run: state.run,
            status: pause_status(pending),
            waiting: pending.iter().map(waiting).collect(),
        },
    }
}

/// Returns the status that a paused run reports.
fn pause_status(pending: &[Pending]) -> &'static str {
    let asks = pending.iter().any(|wait| matches!(wait.what, PendingKind::Answer(_)));
    if asks { "clarification_needed" } else { "approval_needed" }
}

fn waiting(pending: &Pending) -> PendingInput {
    match &pending.what {
        PendingKind::Approval(request) => PendingInput::Approval(request.clone()),
        PendingKind::Answer(question) => {
            let (call, approval) = (pending.call, pending.approval());
            PendingInput::Answer { call, approval, question: question.clone() }
        }
    }
}
