//! The recovery loop: resumes runs and calls that no process drives, and runs whose questions other
//! processes decided; pauses all runs when the daemon stops.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use toolcrib_app::StateChanges;
use toolcrib_core::{
    ApprovalId, ApprovalRequest, Clock as _, OpenRun, RunId, RunStatus, StoreError, StoredRun,
    SystemClock,
};
use toolcrib_ops::runs::pending_questions;

use super::drive::{ResumeOptions, is_abandoned, resume_run};
use super::resume::{finish_batch, has_decided, take_due_batches};
use super::shutdown::shut_down;
use super::supervisor::RunSupervisor;

/// Interval of recovering calls. Also the longest time between two scans: a process that dies
/// leaves no notification.
const RECOVER_INTERVAL: Duration = Duration::from_secs(5);
/// Time after which an apparently abandoned run is checked again and resumed: a process that has
/// just taken it is its worker by then.
const ABANDONED_DELAY: Duration = Duration::from_millis(250);
/// Maximum number of runs per scan, the oldest first.
const MAX_OPEN_RUNS: usize = 10_000;
/// The longest time between two attempts to resume a run.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(300);

/// Scans until the daemon is told to stop, then pauses all runs. Other processes decide questions
/// and abandon runs without a notification, so the loop scans at intervals while a run or a
/// question is open; this process can wake the loop.
pub(crate) async fn run_recovery_loop(supervisor: &RunSupervisor, mut changes: StateChanges) {
    // This daemon holds the lock of its folder, so its former processes are dead.
    if let Err(error) = supervisor.stores().calls.release_former().await {
        tracing::warn!(%error, "the claims of an earlier daemon expire by themselves");
    }
    let mut state = RecoveryLoop::default();
    loop {
        let found = match state.scan(supervisor).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "open runs and questions could not be read");
                Scanned::Open(supervisor.settings().recovery_interval)
            }
        };
        let wait = async {
            match found {
                Scanned::Open(interval) => tokio::time::sleep(interval).await,
                Scanned::Nothing(interval) => {
                    changes.next_within(interval, RECOVER_INTERVAL).await;
                }
            }
        };
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => break,
            () = supervisor.woken() => {}
            () = wait => {}
        }
    }
    shut_down(supervisor).await;
}

/// The result of a scan, with the shortest time until the next one.
enum Scanned {
    /// A run or a question is open.
    Open(Duration),
    /// Nothing is open.
    Nothing(Duration),
}

/// The state from earlier scans.
#[derive(Default)]
struct RecoveryLoop {
    /// Runs whose events this process reports and that the last list of open runs did not contain.
    missing: HashSet<RunId>,
    recovered: Option<Instant>,
    /// Runs that seem abandoned, each with its epoch and the time of detection.
    suspects: HashMap<RunId, (u64, Instant)>,
    /// The questions of paused runs, with the epochs of the runs.
    questions: HashMap<RunId, (u64, Vec<ApprovalId>)>,
    /// Runs that could not be resumed: the number of attempts, and the time of the next one.
    failures: HashMap<RunId, (u32, Instant)>,
    /// Questions of the last scan; `None` before the first scan.
    pending: Option<HashMap<ApprovalId, ApprovalRequest>>,
}

impl RecoveryLoop {
    async fn scan(&mut self, supervisor: &RunSupervisor) -> Result<Scanned, StoreError> {
        if self.recovered.is_none_or(|at| at.elapsed() >= RECOVER_INTERVAL) {
            recover_calls(supervisor).await?;
            self.recovered = Some(Instant::now());
        }
        // Runs are read before questions: the question of a paused run is stored before its state.
        let runs = supervisor.stores().runs.open_runs(MAX_OPEN_RUNS).await?;
        let pending = supervisor.stores().approvals.pending().await?;
        let pending: HashMap<_, _> =
            pending.into_iter().map(|request| (request.id, request)).collect();
        self.resume_abandoned(supervisor, &runs).await?;
        self.resume_decided(supervisor, &runs, &pending).await?;
        let is_open = !runs.is_empty() || !pending.is_empty();
        publish_questions(supervisor, self.pending.take(), &pending).await?;
        self.pending = Some(pending);
        self.missing = supervisor.registry().close_stale(&runs, &self.missing);
        self.failures.retain(|id, _| runs.iter().any(|run| run.id == *id));
        let interval = supervisor.settings().recovery_interval;
        Ok(if !self.suspects.is_empty() {
            Scanned::Open(interval.min(ABANDONED_DELAY))
        } else if is_open {
            Scanned::Open(interval)
        } else {
            Scanned::Nothing(interval)
        })
    }

    /// Resumes runs that are stored as running and that no process drives.
    async fn resume_abandoned(
        &mut self,
        supervisor: &RunSupervisor,
        runs: &[OpenRun],
    ) -> Result<(), StoreError> {
        let mut suspects = HashMap::new();
        for run in runs.iter().filter(|run| run.status == RunStatus::Running) {
            if supervisor.is_driving(run.id) || !self.may_try(run.id) {
                continue;
            }
            let Some(stored) = supervisor.stores().runs.run(run.id).await? else { continue };
            if !is_abandoned(supervisor, &stored).await? {
                continue;
            }
            match self.suspects.get(&run.id) {
                Some((epoch, since)) if *epoch == stored.epoch => {
                    if since.elapsed() >= ABANDONED_DELAY && has_capacity(supervisor) {
                        self.resume_run(supervisor, stored).await;
                    } else {
                        suspects.insert(run.id, (stored.epoch, *since));
                    }
                }
                _ => {
                    suspects.insert(run.id, (stored.epoch, Instant::now()));
                }
            }
        }
        self.suspects = suspects;
        Ok(())
    }

    /// Resumes paused runs whose questions were decided or have expired.
    async fn resume_decided(
        &mut self,
        supervisor: &RunSupervisor,
        runs: &[OpenRun],
        pending_now: &HashMap<ApprovalId, ApprovalRequest>,
    ) -> Result<(), StoreError> {
        let paused: HashMap<RunId, &OpenRun> = runs
            .iter()
            .filter(|run| run.status == RunStatus::Paused)
            .map(|run| (run.id, run))
            .collect();
        self.questions.retain(|id, _| paused.contains_key(id));
        for run in paused.values() {
            let known = self.questions.get(&run.id).is_some_and(|(epoch, _)| *epoch == run.epoch);
            if !known {
                let Some(stored) = supervisor.stores().runs.run(run.id).await? else { continue };
                if stored.epoch != run.epoch || stored.status != RunStatus::Paused {
                    continue;
                }
                let asked =
                    pending_questions(&stored).iter().filter_map(|wait| wait.approval()).collect();
                self.questions.insert(run.id, (run.epoch, asked));
            }
            let Some((_, asked)) = self.questions.get(&run.id) else { continue };
            let due = has_decided(asked, pending_now, SystemClock.now_ms());
            if !due
                || supervisor.is_driving(run.id)
                || !self.may_try(run.id)
                || !has_capacity(supervisor)
            {
                continue;
            }
            if let Some(stored) = supervisor.stores().runs.run(run.id).await? {
                self.resume_run(supervisor, stored).await;
            }
        }
        Ok(())
    }

    fn may_try(&self, run: RunId) -> bool {
        self.failures.get(&run).is_none_or(|(_, again)| Instant::now() >= *again)
    }

    async fn resume_run(&mut self, supervisor: &RunSupervisor, run: StoredRun) {
        let id = run.id;
        match resume_run(supervisor, run, ResumeOptions::default()).await {
            Ok(_) => {
                self.failures.remove(&id);
            }
            Err(error) => {
                let tries = self.failures.get(&id).map_or(0, |(tries, _)| *tries) + 1;
                let wait =
                    MAX_RETRY_DELAY.min(Duration::from_millis(500) * 2_u32.saturating_pow(tries));
                tracing::warn!(run = %id, %error, tries, "a run cannot be resumed now");
                self.failures.insert(id, (tries, Instant::now() + wait));
            }
        }
    }
}

/// Records the outcome of calls whose process died, and finishes accepted batches.
async fn recover_calls(supervisor: &RunSupervisor) -> Result<(), StoreError> {
    let recovered = supervisor.toolcrib().engine().recover().await?;
    let (unknown, batches) = (recovered.unknown.len(), recovered.batches.len());
    if unknown + batches > 0 {
        tracing::info!(unknown, batches, "calls of processes that died are recovered");
    }
    let due = take_due_batches(supervisor).await;
    for batch in recovered.batches.into_iter().chain(due) {
        let supervisor = supervisor.clone();
        tokio::spawn(async move { finish_batch(&supervisor, batch).await });
    }
    Ok(())
}

/// Returns whether fewer runs are driven than the limit: recovered runs are exempt from the limit,
/// but must not use up the capacity for runs that clients start.
fn has_capacity(supervisor: &RunSupervisor) -> bool {
    supervisor.active_count() < supervisor.settings().max_runs
}

/// Publishes questions that were asked or decided since the last scan, by any process.
async fn publish_questions(
    supervisor: &RunSupervisor,
    before: Option<HashMap<ApprovalId, ApprovalRequest>>,
    now: &HashMap<ApprovalId, ApprovalRequest>,
) -> Result<(), StoreError> {
    let Some(before) = before else { return Ok(()) };
    let mut asked: Vec<_> =
        now.values().filter(|request| !before.contains_key(&request.id)).collect();
    asked.sort_by_key(|request| request.id);
    for request in asked {
        supervisor.publish_approval(request);
    }
    for request in before.values().filter(|request| !now.contains_key(&request.id)) {
        let found = supervisor.stores().approvals.get(request.id).await?;
        supervisor.publish_decision(request, found.and_then(|(_, record)| record).as_ref());
    }
    Ok(())
}
