//! Going on with what a person decided about: the run that waits for it, or the call alone.

use std::collections::HashMap;
use std::time::Duration;

use toolcrib_app::core::store::{AcceptedBatch, Waiting};
use toolcrib_app::core::{
    ApprovalId, ApprovalRequest, Batch, BatchId, Clock as _, Invoker as _, RunId, RunSpec,
    RunStatus, StoreError, StoredRun, SystemClock, WorkerState,
};
use toolcrib_app::runner::labels_of_run;

use super::drive::{How, is_abandoned, take_up};
use crate::daemon::Daemon;

/// Time between two looks at a run that others still have open.
const STILL_OPEN: Duration = Duration::from_millis(50);

/// Who goes on with a call after the decision about it.
pub(crate) enum Next {
    /// A run that this daemon drives now, and that looks for decisions itself.
    Here,
    /// A run that is put aside, or was left behind.
    Run(Box<StoredRun>),
    /// Another process waits for it.
    Elsewhere,
    /// Nobody: the call goes on alone.
    Call,
    /// Nobody ever: its run is over.
    Over,
}

impl Next {
    /// As it is told.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Here | Self::Run(_) => "run",
            Self::Elsewhere => "elsewhere",
            Self::Call => "call",
            Self::Over => "nobody",
        }
    }
}

/// Where this question waits.
pub(crate) async fn place_of(daemon: &Daemon, waiting: &Waiting) -> Result<Next, StoreError> {
    let stores = daemon.stores();
    let run = match waiting.request.run {
        Some(id) if daemon.live().drives(id) => return Ok(Next::Here),
        Some(id) => stores.runs.run(id).await?,
        None => None,
    };
    match run {
        Some(run) if run.status == RunStatus::Ended => Ok(Next::Over),
        Some(run) if run.status == RunStatus::Running && !is_abandoned(daemon, &run).await? => {
            Ok(Next::Elsewhere)
        }
        Some(run) => Ok(Next::Run(Box::new(run))),
        None => of_call(daemon, waiting).await,
    }
}

/// A call of no run that is kept: a process at a terminal may wait for it (`waits`).
async fn of_call(daemon: &Daemon, waiting: &Waiting) -> Result<Next, StoreError> {
    let setup = &waiting.setup;
    let waits = setup.get("waits").and_then(|waits| waits.as_bool()).unwrap_or(false);
    let worker = setup.get("worker").and_then(|worker| worker.as_u64()).filter(|_| waits);
    let Some(worker) = worker else { return Ok(Next::Call) };
    match daemon.stores().calls.worker(worker).await? {
        WorkerState::Alive(_) => Ok(Next::Elsewhere),
        WorkerState::Gone | WorkerState::Unknown => Ok(Next::Call),
    }
}

/// What goes on when a decision is written: on the list of what must be done before that.
pub(crate) struct Promised {
    /// The call; or the one that made it, which goes on with it.
    pub(crate) batch: AcceptedBatch,
    /// Of a call that another one made: the question, and its run.
    within: Option<(ApprovalId, Option<RunId>)>,
}

/// A call that will go on alone is put on the list of what must be done, before the decision is written: whoever comes after a crash then finds
/// it there, decided or not.
pub(crate) async fn promise(daemon: &Daemon, waiting: &Waiting) -> Result<Promised, StoreError> {
    let (id, accepted_at) = (BatchId::fresh(), SystemClock.now_ms());
    let within = waiting.batch.within.as_deref();
    let batch = match within {
        Some(within) => Batch::clone(&within.parent),
        // The run is that of the response that the call came in; it is opened again when the call goes on.
        None => Batch { run: None, ..waiting.batch.clone() },
    };
    let accept = |epoch| {
        let accepted = AcceptedBatch { id, key: None, batch: batch.clone(), accepted_at, epoch };
        async move {
            daemon.stores().calls.accept(accepted.clone()).await?;
            Ok(accepted)
        }
    };
    let batch = daemon.toolcrib().engine().under_claim(accept).await?;
    let within = within.map(|_| (waiting.request.id, waiting.request.run));
    Ok(Promised { batch, within })
}

/// Goes on with what was decided, on a task of its own.
pub(crate) async fn go_on(daemon: &Daemon, next: Next, promised: Option<Promised>) {
    match next {
        // It may be about to pause, having looked for a decision a moment ago.
        Next::Here => daemon.live().poke(),
        Next::Run(run) => {
            if let Err(problem) = take_up(daemon, *run, How::default()).await {
                // The decision is stored: it is tried again.
                tracing::warn!(detail = %problem.detail, "a run could not go on with a decision at once");
                daemon.live().poke();
            }
        }
        Next::Call | Next::Over | Next::Elsewhere => {}
    }
    if let Some(Promised { batch, within }) = promised {
        let daemon = daemon.clone();
        tokio::spawn(async move {
            match within {
                None => finish(&daemon, batch).await,
                Some((question, run)) => go_on_within(&daemon, question, run, batch.id).await,
            }
        });
    }
}

/// Goes on with a call that another one made, and then with that.
async fn go_on_within(daemon: &Daemon, question: ApprovalId, run: Option<RunId>, batch: BatchId) {
    let _open = match run {
        None => None,
        Some(run) => match open_run(daemon, run).await {
            Ok(run) => Some(run),
            Err(error) => {
                // It stays on the list.
                tracing::warn!(%question, %error, "what was decided about cannot go on now");
                return;
            }
        },
    };
    match daemon.toolcrib().engine().go_on(question).await {
        // It has ended, or waits for the next decision, which is a promise of its own.
        Ok(_) => drop(daemon.stores().calls.done(batch).await),
        Err(error) => tracing::warn!(%question, %error, "what was decided about did not go on"),
    }
}

/// Goes on with an accepted batch; calls of responses have their runs open again as long as that takes.
pub(super) async fn finish(daemon: &Daemon, batch: AcceptedBatch) {
    // A call that made calls runs again in the run that it was in.
    let mut runs: Vec<RunId> = batch.batch.run.filter(|_| batch.batch.again).into_iter().collect();
    for call in &batch.batch.calls {
        let question = daemon.stores().approvals.of_call(call.id).await;
        runs.extend(question.ok().flatten().and_then(|(waiting, _)| waiting.request.run));
    }
    let mut open = Vec::new();
    for run in runs {
        match open_run(daemon, run).await {
            Ok(run) => open.push(run),
            Err(error) => {
                // It stays on the list.
                tracing::warn!(%run, %error, "a decided call cannot go on now");
                return;
            }
        }
    }
    let _answers = daemon.toolcrib().engine().finish(batch).await;
}

/// A run that is open for decided calls; whoever cannot say what it had read must not let it go on as if it had read nothing.
async fn open_run(daemon: &Daemon, run: RunId) -> Result<OpenRun, StoreError> {
    let labels = labels_of_run(&*daemon.stores().runs, run).await;
    let labels = labels.map_err(|error| StoreError::Failed(error.to_string()))?;
    loop {
        {
            let mut opened = daemon.live().opened();
            let calls = opened.get(&run).copied().unwrap_or(0);
            let spec = RunSpec { id: Some(run), labels: labels.clone(), ..RunSpec::default() };
            if calls > 0 || daemon.toolcrib().engine().open_run(spec).is_ok() {
                opened.insert(run, calls + 1);
                return Ok(OpenRun { daemon: daemon.clone(), run });
            }
        }
        // The rest of its response is still at work, and takes the run with it when it ends.
        tokio::time::sleep(STILL_OPEN).await;
    }
}

/// A run of a response that is open for one call, or more.
struct OpenRun {
    daemon: Daemon,
    run: RunId,
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        let mut opened = self.daemon.live().opened();
        let left = opened.get_mut(&self.run).map_or(0, |calls| {
            *calls -= 1;
            *calls
        });
        if left == 0 {
            opened.remove(&self.run);
            self.daemon.toolcrib().engine().close_run(self.run);
        }
    }
}

/// Whether one of these questions is decided, or its time is over: there is something to go on with.
pub(super) fn is_due(
    questions: &[ApprovalId],
    pending: &HashMap<ApprovalId, ApprovalRequest>,
    now_ms: i64,
) -> bool {
    questions.iter().any(|id| pending.get(id).is_none_or(|request| request.is_expired(now_ms)))
}
