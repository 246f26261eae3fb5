//! Driving a run on a task of its own, from its beginning or from where it was left, until it is over, waits, or is put down.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use toolcrib_app::agent::drive::{Control, DriveError, Driven, NobodyAnswers};
use toolcrib_app::agent::events::{Event, EventSink};
use toolcrib_app::agent::library::expand;
use toolcrib_app::core::{RunId, RunStatus, StoreError, StoredRun, WorkerState};
use toolcrib_app::providers::chat::UserMessage;
use toolcrib_app::runner::{Finished, RunnerError, Start, Surfaces};

use super::run::LiveRun;
use super::{NoPlace, Place, place, stored};
use crate::daemon::Daemon;
use crate::problem::{Code, Problem};

/// Where a drive begins.
pub(super) enum First {
    /// At the beginning.
    Start(Box<Start>),
    /// Where it was left.
    Resume(Box<StoredRun>, Box<Start>),
}

/// How a run is taken up.
#[derive(Default)]
pub(crate) struct How {
    /// Something that is said to it.
    pub(crate) message: Option<UserMessage>,
    /// It is only to be ended.
    pub(crate) stop: bool,
}

/// Says in a run's setup that this process works on it, where setups are objects; so does the engine for calls that wait.
pub(super) async fn worked_on_here(daemon: &Daemon, setup: &mut Value) -> Result<(), Problem> {
    let epoch = daemon.toolcrib().engine().claim().await?;
    if let Some(setup) = setup.as_object_mut() {
        setup.insert("worker".to_owned(), epoch.into());
    }
    Ok(())
}

/// The tools that the token of a run's beginner is limited to, in its setup: they hold whoever goes on with the run.
const ONLY: &str = "only_tools";

/// Limits a run to the tools of the token that it is begun with.
pub(super) fn limited(daemon: &Daemon, start: &mut Start, only: Option<&[String]>) {
    let Some(only) = only else { return };
    let names = daemon.runner().tool_names();
    let may = expand(Some(only), &names).tools;
    let mut tools = expand(start.agent.tools.as_deref(), &names).tools;
    tools.retain(|tool| may.contains(tool));
    start.agent.tools = Some(tools);
    if let Some(setup) = start.setup.as_object_mut() {
        setup.insert(ONLY.to_owned(), json!(only));
    }
}

/// The same of a run that is taken up.
fn limited_as_begun(daemon: &Daemon, run: &StoredRun, start: &mut Start) {
    let only = run.state.pointer("/setup").and_then(|setup| setup.get(ONLY)).cloned();
    let only = only.and_then(|only| serde_json::from_value::<Vec<String>>(only).ok());
    limited(daemon, start, only.as_deref());
}

/// Whether a run that is stored as `running` has nobody who works on it.
pub(crate) async fn is_abandoned(daemon: &Daemon, run: &StoredRun) -> Result<bool, StoreError> {
    if run.status != RunStatus::Running || daemon.live().drives(run.id) {
        return Ok(false);
    }
    let engine = daemon.toolcrib().engine();
    let Some(worker) = daemon.host().worker_of(run) else { return Ok(true) };
    if worker == engine.claim().await? {
        // It is ours, and no task of ours has it.
        return Ok(true);
    }
    let state = daemon.stores().calls.worker(worker).await?;
    Ok(!matches!(state, WorkerState::Alive(_)))
}

/// Takes up a run that waits or that nobody works on. It is being driven when this returns; if it is already, so it stays.
pub(crate) async fn take_up(
    daemon: &Daemon,
    run: StoredRun,
    how: How,
) -> Result<Arc<LiveRun>, Problem> {
    let place = match place(daemon, run.id, run.conversation, None) {
        Ok(place) => place,
        Err(NoPlace::AtWork) => {
            let live = daemon.live().get(run.id);
            let live = live.ok_or_else(|| Problem::from(NoPlace::AtWork))?;
            if let Some(message) = how.message {
                live.say(message);
            }
            if how.stop {
                live.stop();
            }
            return Ok(live);
        }
        Err(other) => return Err(other.into()),
    };
    let mut start = daemon.host().restore(&run).await?;
    worked_on_here(daemon, &mut start.setup).await?;
    limited_as_begun(daemon, &run, &mut start);
    let live = match daemon.live().get(run.id) {
        Some(live) if live.follows(run.epoch) => live,
        stale => {
            // Somebody else has worked on it since: what is shown here is not its state.
            if let Some(stale) = stale {
                stale.over();
            }
            let view = stored::view(daemon, &run).await?;
            let owner = run.context.owner.clone();
            Arc::new(LiveRun::new(run.id, run.conversation, owner, view))
        }
    };
    let id = run.id;
    let how = (how.message, how.stop);
    let first = First::Resume(Box::new(run), Box::new(start));
    drive_with(daemon, place, Arc::clone(&live), first, how).await?;
    tracing::debug!(run = %id, "a run goes on");
    Ok(live)
}

/// Drives a run on a task of its own; returns when it is stored and at work, or cannot be.
pub(super) async fn drive(
    daemon: &Daemon,
    place: Place,
    live: Arc<LiveRun>,
    first: First,
) -> Result<(), Problem> {
    drive_with(daemon, place, live, first, (None, false)).await
}

async fn drive_with(
    daemon: &Daemon,
    place: Place,
    live: Arc<LiveRun>,
    first: First,
    (message, stop): (Option<UserMessage>, bool),
) -> Result<(), Problem> {
    let control = live.goes_on(match &first {
        First::Start(_) => 0,
        // Taking it makes it one more.
        First::Resume(run, _) => run.epoch + 1,
    });
    if let Some(message) = message {
        control.say(message);
    }
    if stop {
        control.stop();
    }
    daemon.live().registry().runs.insert(live.id, Arc::clone(&live));
    let (begun, at_work) = oneshot::channel();
    let surfaces = Surfaces {
        control: control.clone(),
        events: daemon.observe().of_run(sink(&live, begun)),
        person: Arc::new(NobodyAnswers),
    };
    let id = live.id;
    let task = tokio::spawn(work(daemon.clone(), place, Arc::clone(&live), first, surfaces));
    // Dropped without a word when it could not even begin.
    if at_work.await.is_ok() {
        daemon.stores().runs.flush(id).await?;
        leave_if_stopping(daemon, &control);
        return Ok(());
    }
    match task.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(problem(error)),
        Err(_) => {
            forget(daemon, &live);
            Err(Problem::new(Code::Internal, "the run broke down before it began"))
        }
    }
}

/// The daemon may have been told to stop while the run began.
fn leave_if_stopping(daemon: &Daemon, control: &Control) {
    if daemon.stopping().is_cancelled() {
        control.leave();
    }
}

/// Tells the run's readers, and whoever waits for its beginning.
fn sink(live: &Arc<LiveRun>, begun: oneshot::Sender<()>) -> EventSink {
    let (live, begun) = (Arc::clone(live), Mutex::new(Some(begun)));
    Arc::new(move |event: Event| {
        live.tell(&event);
        if let Event::RunStart { .. } = event {
            let begun = begun.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(begun) = begun {
                // Nobody may wait any more.
                let _ = begun.send(());
            }
        }
    })
}

async fn work(
    daemon: Daemon,
    place: Place,
    live: Arc<LiveRun>,
    first: First,
    surfaces: Surfaces,
) -> Result<(), RunnerError> {
    tell_state(&daemon, &live, "running", None);
    let runner = daemon.runner();
    let driven = match first {
        First::Start(start) => runner.start_as(live.id, *start, &surfaces).await,
        First::Resume(run, start) => runner.resume(*run, *start, &surfaces).await,
    };
    drop(surfaces);
    drop(place);
    settle(&daemon, &live, driven)
}

/// What becomes of a run that is not driven any more.
fn settle(
    daemon: &Daemon,
    live: &Arc<LiveRun>,
    driven: Result<Finished, RunnerError>,
) -> Result<(), RunnerError> {
    match driven {
        Ok(finished) => {
            let status = live.view().status.clone();
            match finished.driven {
                Driven::Paused(_) => {
                    // What it did not take any more it is told when it goes on.
                    finished.left_over.into_iter().for_each(|message| live.say(message));
                    tell_state(daemon, live, "paused", status);
                    // What it waits for may be decided already.
                    daemon.live().poke();
                }
                Driven::Ended(_) => {
                    for message in finished.left_over {
                        let text = format!("It had ended when this was said: {}", message.text);
                        live.tell(&Event::Notice { text });
                    }
                    tell_state(daemon, live, "ended", status);
                    forget(daemon, live);
                }
            }
            Ok(())
        }
        Err(error) => {
            match &error {
                RunnerError::Drive(DriveError::Left) => {
                    tracing::info!(run = %live.id, "a run was put down; it goes on after the restart");
                }
                RunnerError::Drive(DriveError::Store(StoreError::Fenced { .. })) => {
                    tracing::info!(run = %live.id, "another daemon has taken a run over");
                }
                error => {
                    tracing::warn!(run = %live.id, %error, "a run cannot be driven on here");
                    live.tell(&Event::Notice { text: error.to_string() });
                }
            }
            forget(daemon, live);
            Err(error)
        }
    }
}

/// Nothing more of it is told here.
fn forget(daemon: &Daemon, live: &Arc<LiveRun>) {
    let mut registry = daemon.live().registry();
    if registry.runs.get(&live.id).is_some_and(|known| Arc::ptr_eq(known, live)) {
        registry.runs.remove(&live.id);
    }
    drop(registry);
    live.over();
}

fn tell_state(daemon: &Daemon, live: &LiveRun, state: &str, status: Option<String>) {
    let view = live.view();
    let what = json!({
        "run": live.id, "conversation": live.conversation, "agent": view.agent,
        "state": state, "status": status,
    });
    daemon.live().feed().tell(Some(&live.owner), "run", &what);
}

/// Why a run could not begin or go on, as it is answered.
fn problem(error: RunnerError) -> Problem {
    let words = error.to_string();
    match error {
        RunnerError::UnknownRun(_) => Problem::not_found(words),
        RunnerError::NotPaused(_) => Problem::conflict(words),
        RunnerError::Agent(_) | RunnerError::Drive(DriveError::NoModel | DriveError::Run(_)) => {
            Problem::invalid(words)
        }
        RunnerError::Store(error) | RunnerError::Drive(DriveError::Store(error)) => error.into(),
        RunnerError::Drive(DriveError::Left) => {
            Problem::new(Code::Unavailable, "the daemon is stopping").retry_after(5)
        }
        RunnerError::Restore(_) => Problem::conflict(words),
    }
}

/// The id of a run out of a path.
pub(crate) fn run_id(text: &str) -> Result<RunId, Problem> {
    text.parse().map_err(|_| Problem::not_found(format!("there is no run {text}")))
}
