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

/// A call that will go on alone is put on the list of what must be done, before the decision is written: whoever comes after a crash then finds
/// it there, decided or not.
pub(crate) async fn promise(
    daemon: &Daemon,
    waiting: &Waiting,
) -> Result<AcceptedBatch, StoreError> {
    let (id, accepted_at) = (BatchId::fresh(), SystemClock.now_ms());
    // The run is that of the response that the call came in; it is opened again when the call goes on.
    let batch = Batch { run: None, ..waiting.batch.clone() };
    let accept = |epoch| {
        let accepted = AcceptedBatch { id, key: None, batch: batch.clone(), accepted_at, epoch };
        async move {
            daemon.stores().calls.accept(accepted.clone()).await?;
            Ok(accepted)
        }
    };
    daemon.toolcrib().engine().under_claim(accept).await
}

/// Goes on with what was decided, on a task of its own.
pub(crate) async fn go_on(daemon: &Daemon, next: Next, promised: Option<AcceptedBatch>) {
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
    if let Some(batch) = promised {
        let daemon = daemon.clone();
        tokio::spawn(async move { finish(&daemon, batch).await });
    }
}

/// Goes on with an accepted batch; calls of responses have their runs open again as long as that takes.
pub(super) async fn finish(daemon: &Daemon, batch: AcceptedBatch) {
    let mut open = Vec::new();
    for call in &batch.batch.calls {
        let question = daemon.stores().approvals.of_call(call.id).await;
        if let Ok(Some((waiting, _))) = question
            && let Some(run) = waiting.request.run
        {
            match open_run(daemon, run).await {
                Ok(run) => open.push(run),
                Err(error) => {
                    // It stays on the list.
                    tracing::warn!(call = %call.id, %error, "a decided call cannot go on now");
                    return;
                }
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
