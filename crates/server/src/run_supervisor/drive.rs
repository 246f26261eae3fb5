//! Drives a run in a separate task, from its start or its stored state, until it ends, waits for a
//! person, or is paused because the daemon stops.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use toolcrib_agent::driver::{DriveError, DriveOutcome, NoHumanInput};
use toolcrib_agent::events::{Event, EventSink};
use toolcrib_agent::library::expand_tool_list;
use toolcrib_app::runner::{RunHandles, RunReport, RunnerError, StartRequest};
use toolcrib_core::{RunStatus, StoreError, StoredRun};
use toolcrib_ops::runs;
use toolcrib_providers::conversation::UserMessage;

use super::active_run::ActiveRun;
use super::error::RunError;
use super::run_registry::RunRefused;
use super::supervisor::{RunPermit, RunSupervisor};

/// The run that the driver starts or resumes.
pub(super) enum StartPoint {
    /// A new run.
    Start(Box<StartRequest>),
    /// A stored run.
    Resume(Box<StoredRun>, Box<StartRequest>),
}

/// Options for resuming a run.
#[derive(Default)]
pub(crate) struct ResumeOptions {
    /// A message to the run.
    pub(crate) message: Option<UserMessage>,
    /// Whether the run is resumed only to be stopped.
    pub(crate) stop: bool,
}

/// Records in the setup of a run, if that is an object, that this process drives it. The engine
/// does the same for calls that wait.
pub(super) async fn set_worker(
    supervisor: &RunSupervisor,
    setup: &mut Value,
) -> Result<(), StoreError> {
    let epoch = supervisor.toolcrib().engine().claim().await?;
    if let Some(setup) = setup.as_object_mut() {
        setup.insert(runs::WORKER.to_owned(), epoch.into());
    }
    Ok(())
}

/// Key in the setup of a run: the tools of the starting token's limit. The limit applies in every
/// process that resumes the run.
const ONLY_TOOLS: &str = "only_tools";

/// Limits a run to the tools of the token that starts it.
pub(super) fn restrict_tools(
    supervisor: &RunSupervisor,
    start: &mut StartRequest,
    only: Option<&[String]>,
) {
    let Some(only) = only else { return };
    let names = supervisor.runner().tool_names();
    let may = expand_tool_list(Some(only), &names).tools;
    let mut tools = expand_tool_list(start.agent.tools.as_deref(), &names).tools;
    tools.retain(|tool| may.contains(tool));
    start.agent.tools = Some(tools);
    if let Some(setup) = start.setup.as_object_mut() {
        setup.insert(ONLY_TOOLS.to_owned(), json!(only));
    }
}

/// Applies the stored limit of a run.
fn restore_tool_restriction(supervisor: &RunSupervisor, run: &StoredRun, start: &mut StartRequest) {
    let only = run.state.pointer("/setup").and_then(|setup| setup.get(ONLY_TOOLS)).cloned();
    let only = only.and_then(|only| serde_json::from_value::<Vec<String>>(only).ok());
    restrict_tools(supervisor, start, only.as_deref());
}

/// Returns whether a run is stored as `running` and no process drives it.
pub(crate) async fn is_abandoned(
    supervisor: &RunSupervisor,
    run: &StoredRun,
) -> Result<bool, StoreError> {
    if run.status != RunStatus::Running || supervisor.is_driving(run.id) {
        return Ok(false);
    }
    let own = supervisor.toolcrib().engine().claim().await?;
    // If this process is its worker, no task drives it.
    let is_own = supervisor.host().worker_of(run) == Some(own);
    Ok(is_own || !runs::has_live_worker(supervisor.stores(), run).await?)
}

/// Resumes a run that is paused or abandoned, and returns when it is driven. A run that this
/// process already drives gets the message and the stop.
pub(crate) async fn resume_run(
    supervisor: &RunSupervisor,
    run: StoredRun,
    options: ResumeOptions,
) -> Result<Arc<ActiveRun>, RunError> {
    take_run(supervisor, run, options).await.map(|(active, _)| active)
}

/// Like [`resume_run`]; also returns whether this call took the run.
pub(super) async fn take_run(
    supervisor: &RunSupervisor,
    run: StoredRun,
    options: ResumeOptions,
) -> Result<(Arc<ActiveRun>, bool), RunError> {
    let permit = match supervisor.acquire_permit(run.id, run.conversation, None) {
        Ok(permit) => permit,
        Err(RunRefused::AlreadyActive) => {
            let active = supervisor.get(run.id).ok_or(RunRefused::AlreadyActive)?;
            if let Some(message) = options.message {
                active.send_message(message);
            }
            if options.stop {
                active.stop();
            }
            return Ok((active, false));
        }
        Err(other) => return Err(other.into()),
    };
    let mut start = supervisor.host().prepare_resume(&run).await?;
    set_worker(supervisor, &mut start.setup).await?;
    restore_tool_restriction(supervisor, &run, &mut start);
    let active = match supervisor.get(run.id) {
        Some(active) if active.is_current(run.epoch) => active,
        stale => {
            // Another process has driven the run since: the local snapshot is out of date.
            if let Some(stale) = stale {
                stale.close();
            }
            let snapshot = supervisor.load_snapshot(&run).await?;
            let owner = run.context.owner.clone();
            Arc::new(ActiveRun::new(run.id, run.conversation, owner, snapshot))
        }
    };
    let id = run.id;
    let from = StartPoint::Resume(Box::new(run), Box::new(start));
    drive_with(supervisor, permit, Arc::clone(&active), from, options).await?;
    tracing::debug!(run = %id, "a run was resumed");
    Ok((active, true))
}

/// Drives a run in a separate task; returns when the run is stored and driven, or when that fails.
pub(super) async fn drive(
    supervisor: &RunSupervisor,
    permit: RunPermit,
    active: Arc<ActiveRun>,
    from: StartPoint,
) -> Result<(), RunError> {
    drive_with(supervisor, permit, active, from, ResumeOptions::default()).await
}

async fn drive_with(
    supervisor: &RunSupervisor,
    permit: RunPermit,
    active: Arc<ActiveRun>,
    from: StartPoint,
    ResumeOptions { message, stop }: ResumeOptions,
) -> Result<(), RunError> {
    let control = active.start_epoch(match &from {
        StartPoint::Start(_) => 0,
        // Taking the run increments its epoch.
        StartPoint::Resume(run, _) => run.epoch + 1,
    });
    if let Some(message) = message {
        control.queue_message(message);
    }
    if stop {
        control.stop();
    }
    supervisor.registry().runs.insert(active.id, Arc::clone(&active));
    let (started, is_started) = oneshot::channel();
    let (stored, is_stored) = oneshot::channel();
    let handles = RunHandles {
        control: control.clone(),
        events: supervisor.telemetry().instrument_run(event_sink(&active, started)),
        person: Arc::new(NoHumanInput),
    };
    let start = Announcement { is_started, stored };
    let driven = drive_task(supervisor.clone(), permit, Arc::clone(&active), from, handles, start);
    let task = tokio::spawn(driven);
    // The sender is dropped without a message if the run could not start.
    if let Ok(flushed) = is_stored.await {
        flushed?;
        // The daemon may have been told to stop after `pause_all` listed the runs.
        if supervisor.shutdown_token().is_cancelled() {
            control.hand_over();
        }
        return Ok(());
    }
    match task.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(RunError::Runner(error)),
        Err(_) => {
            untrack(supervisor, &active);
            Err(RunError::Panicked)
        }
    }
}

/// Returns a sink that applies the events of a run to its snapshot and reports its start.
fn event_sink(active: &Arc<ActiveRun>, started: oneshot::Sender<()>) -> EventSink {
    let (active, started) = (Arc::clone(active), Mutex::new(Some(started)));
    Arc::new(move |event: Event| {
        active.apply(&event);
        if let Event::RunStart { .. } = event {
            let started = started.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(started) = started {
                // The receiver is gone if the client has disconnected.
                let _ = started.send(());
            }
        }
    })
}

/// The notification of the start of a run.
struct Announcement {
    /// Resolves when the run has started and its first checkpoint is queued.
    is_started: oneshot::Receiver<()>,
    /// Notified when readers find the run in the store, or with the reason why they do not.
    stored: oneshot::Sender<Result<(), StoreError>>,
}

impl Announcement {
    /// Publishes the start of the run once it is stored: a subscriber reads the run as soon as an
    /// event names it.
    async fn publish(self, supervisor: &RunSupervisor, active: &ActiveRun) {
        if self.is_started.await.is_err() {
            return;
        }
        let flushed = supervisor.stores().runs.flush(active.id).await;
        if flushed.is_ok() {
            publish_state(supervisor, active, "running", None);
        }
        // The receiver is gone if the client has disconnected.
        let _ = self.stored.send(flushed);
    }
}

async fn drive_task(
    supervisor: RunSupervisor,
    permit: RunPermit,
    active: Arc<ActiveRun>,
    from: StartPoint,
    handles: RunHandles,
    start: Announcement,
) -> Result<(), RunnerError> {
    let runner = supervisor.runner();
    let drive = async {
        let report = match from {
            StartPoint::Start(start) => runner.start_as(active.id, *start, &handles).await,
            StartPoint::Resume(run, start) => runner.resume(*run, *start, &handles).await,
        };
        // Also drops the sender, so that a run that did not start is not awaited.
        drop(handles);
        report
    };
    // Run both together, so that the end is never published before the start.
    let (report, ()) = tokio::join!(drive, start.publish(&supervisor, &active));
    drop(permit);
    finish_drive(&supervisor, &active, report)
}

/// Reports the end of a drive of a run.
fn finish_drive(
    supervisor: &RunSupervisor,
    active: &Arc<ActiveRun>,
    report: Result<RunReport, RunnerError>,
) -> Result<(), RunnerError> {
    match report {
        Ok(finished) => {
            let status = active.view().status.clone();
            match finished.driven {
                DriveOutcome::Paused(_) => {
                    // Messages that the run did not read are delivered when it is resumed.
                    finished.left_over.into_iter().for_each(|message| active.send_message(message));
                    publish_state(supervisor, active, "paused", status);
                    // The question of the run may already be decided.
                    supervisor.wake();
                }
                DriveOutcome::Ended(_) => {
                    for message in finished.left_over {
                        let text = format!("It had ended when this was said: {}", message.text);
                        active.apply(&Event::Notice { text });
                    }
                    publish_state(supervisor, active, "ended", status);
                    untrack(supervisor, active);
                }
            }
            Ok(())
        }
        Err(error) => {
            match &error {
                RunnerError::Drive(DriveError::HandedOver) => {
                    tracing::info!(run = %active.id, "a run was paused; it resumes after the restart");
                }
                RunnerError::Drive(DriveError::Store(StoreError::Fenced { .. })) => {
                    tracing::info!(run = %active.id, "another daemon has taken over a run");
                }
                error => {
                    tracing::warn!(run = %active.id, %error, "a run cannot continue here");
                    active.apply(&Event::Notice { text: error.to_string() });
                }
            }
            untrack(supervisor, active);
            Err(error)
        }
    }
}

/// Stops reporting the events of a run.
fn untrack(supervisor: &RunSupervisor, active: &Arc<ActiveRun>) {
    supervisor.registry().remove(active);
    active.close();
}

fn publish_state(
    supervisor: &RunSupervisor,
    active: &ActiveRun,
    state: &str,
    status: Option<String>,
) {
    let view = active.view();
    let row = json!({
        "run": active.id, "conversation": active.conversation, "agent": view.agent,
        "state": state, "status": status,
    });
    supervisor.broadcast().publish(Some(&active.owner), "run", &row);
}
