//! Looking after what nobody drives: runs and calls that a process left behind, questions that were decided elsewhere; and putting everything
//! down when the daemon stops.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use toolcrib_app::core::{
    ApprovalId, ApprovalRequest, Clock as _, OpenRun, RunId, RunStatus, StoreError, SystemClock,
};

use super::decided::{finish, is_due};
use super::drive::{How, is_abandoned, take_up};
use super::stored::pending;
use crate::daemon::Daemon;

/// Time between two looks at calls that were left behind.
const RECOVER: Duration = Duration::from_secs(5);
/// A run that nobody seems to work on is taken when that is still so after this time: whoever has just taken it says so by then.
const SETTLE: Duration = Duration::from_millis(250);
/// Runs that are looked at, the oldest first.
const LOOKED_AT: usize = 10_000;
/// The longest time after which a run that cannot be taken up is tried again.
const LONGEST: Duration = Duration::from_secs(300);
/// Time that runs have to be stored once they were let go of.
const LET_GO: Duration = Duration::from_secs(5);
/// Time between two looks at runs that are being put down.
const PUTTING_DOWN: Duration = Duration::from_millis(10);

/// Looks after everything until the daemon is told to stop, then puts it down.
pub(crate) async fn tend(daemon: &Daemon) {
    let mut looks = Looks::default();
    loop {
        let wait = match looks.look(daemon).await {
            Ok(wait) => wait,
            Err(error) => {
                tracing::warn!(%error, "what waits could not be looked at");
                daemon.settings().look
            }
        };
        tokio::select! {
            () = daemon.stopping().cancelled() => break,
            () = daemon.live().poked.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
    put_down(daemon).await;
}

/// Runs are left at their next step; those that take longer than the daemon drains are let go of. All of them stay to be taken up.
async fn put_down(daemon: &Daemon) {
    leave(daemon);
    if !emptied(daemon, daemon.settings().drain).await {
        for control in controls(daemon) {
            control.let_go();
        }
        emptied(daemon, LET_GO).await;
    }
}

/// Tells every run that is at work to be put down at its next step.
pub(crate) fn leave(daemon: &Daemon) {
    for control in controls(daemon) {
        control.leave();
    }
}

fn controls(daemon: &Daemon) -> Vec<toolcrib_app::agent::drive::Control> {
    let registry = daemon.live().registry();
    let at_work = registry.at_work.keys().filter_map(|id| registry.runs.get(id));
    at_work.map(|live| live.control()).collect()
}

async fn emptied(daemon: &Daemon, limit: Duration) -> bool {
    let begun = Instant::now();
    while daemon.live().count() > 0 {
        if begun.elapsed() >= limit {
            return false;
        }
        tokio::time::sleep(PUTTING_DOWN).await;
    }
    true
}

/// What earlier looks have seen.
#[derive(Default)]
struct Looks {
    /// Runs that are told of here and were not among those that are open.
    missing: HashSet<RunId>,
    recovered: Option<Instant>,
    /// Runs that seemed to have nobody, with their fencing numbers, and since when.
    suspects: HashMap<RunId, (u64, Instant)>,
    /// What the runs that wait are waiting for, with their fencing numbers.
    questions: HashMap<RunId, (u64, Vec<ApprovalId>)>,
    /// Runs that could not be taken up: how often, and when they are tried again.
    troubles: HashMap<RunId, (u32, Instant)>,
    /// Questions that were there at the last look; `None` = there was none.
    pending: Option<HashMap<ApprovalId, ApprovalRequest>>,
}

impl Looks {
    /// Looks once; how long until the next time.
    async fn look(&mut self, daemon: &Daemon) -> Result<Duration, StoreError> {
        if self.recovered.is_none_or(|at| at.elapsed() >= RECOVER) {
            self.recover(daemon).await?;
            self.recovered = Some(Instant::now());
        }
        // Runs before questions: a run that is seen to wait has asked before.
        let runs = daemon.stores().runs.open_runs(LOOKED_AT).await?;
        let pending = daemon.stores().approvals.pending().await?;
        let pending: HashMap<_, _> =
            pending.into_iter().map(|request| (request.id, request)).collect();
        self.left_behind(daemon, &runs).await?;
        self.due(daemon, &runs, &pending).await?;
        tell_questions(daemon, self.pending.take(), &pending).await?;
        self.pending = Some(pending);
        self.close_stale(daemon, &runs);
        self.troubles.retain(|id, _| runs.iter().any(|run| run.id == *id));
        let look = daemon.settings().look;
        Ok(if self.suspects.is_empty() { look } else { look.min(SETTLE) })
    }

    /// Calls that a process left behind get their outcome, and batches that were accepted are finished.
    async fn recover(&mut self, daemon: &Daemon) -> Result<(), StoreError> {
        let recovered = daemon.toolcrib().engine().recover().await?;
        let (unknown, batches) = (recovered.unknown.len(), recovered.batches.len());
        if unknown + batches > 0 {
            tracing::info!(unknown, batches, "calls that were left behind are dealt with");
        }
        for batch in recovered.batches {
            let daemon = daemon.clone();
            tokio::spawn(async move { finish(&daemon, batch).await });
        }
        Ok(())
    }

    /// Runs that are stored as at work and have nobody.
    async fn left_behind(&mut self, daemon: &Daemon, runs: &[OpenRun]) -> Result<(), StoreError> {
        let mut suspects = HashMap::new();
        for run in runs.iter().filter(|run| run.status == RunStatus::Running) {
            if daemon.live().drives(run.id) || !self.may_try(run.id) {
                continue;
            }
            let Some(stored) = daemon.stores().runs.run(run.id).await? else { continue };
            if !is_abandoned(daemon, &stored).await? {
                continue;
            }
            match self.suspects.get(&run.id) {
                Some((epoch, since)) if *epoch == stored.epoch => {
                    if since.elapsed() >= SETTLE && has_room(daemon) {
                        self.take(daemon, stored).await;
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

    /// Runs that wait for what is decided, or whose questions nobody answered in time.
    async fn due(
        &mut self,
        daemon: &Daemon,
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
                let Some(stored) = daemon.stores().runs.run(run.id).await? else { continue };
                if stored.epoch != run.epoch || stored.status != RunStatus::Paused {
                    continue;
                }
                let asked = pending(&stored).iter().filter_map(|wait| wait.approval()).collect();
                self.questions.insert(run.id, (run.epoch, asked));
            }
            let Some((_, asked)) = self.questions.get(&run.id) else { continue };
            let due = is_due(asked, pending_now, SystemClock.now_ms());
            if !due || daemon.live().drives(run.id) || !self.may_try(run.id) || !has_room(daemon) {
                continue;
            }
            if let Some(stored) = daemon.stores().runs.run(run.id).await? {
                self.take(daemon, stored).await;
            }
        }
        Ok(())
    }

    /// Runs that wait and that nobody looks at any more are not kept here, nor those that somebody else has worked on since.
    fn close_stale(&mut self, daemon: &Daemon, runs: &[OpenRun]) {
        let mut registry = daemon.live().registry();
        let open: HashMap<RunId, &OpenRun> = runs.iter().map(|run| (run.id, run)).collect();
        let (mut stale, mut missing) = (Vec::new(), HashSet::new());
        for (id, live) in &registry.runs {
            if registry.at_work.contains_key(id) {
                continue;
            }
            let is_theirs = match open.get(id) {
                Some(run) => run.status != RunStatus::Paused || !live.follows(run.epoch),
                // It may have been put aside a moment ago: the next look tells.
                None => !missing.insert(*id) || self.missing.contains(id),
            };
            if is_theirs || live.readers() == 0 {
                stale.push(*id);
            }
        }
        for id in stale {
            if let Some(live) = registry.runs.remove(&id) {
                live.over();
            }
        }
        self.missing = missing;
    }

    fn may_try(&self, run: RunId) -> bool {
        self.troubles.get(&run).is_none_or(|(_, again)| Instant::now() >= *again)
    }

    async fn take(&mut self, daemon: &Daemon, run: toolcrib_app::core::StoredRun) {
        let id = run.id;
        match take_up(daemon, run, How::default()).await {
            Ok(_) => {
                self.troubles.remove(&id);
            }
            Err(problem) => {
                let tries = self.troubles.get(&id).map_or(0, |(tries, _)| *tries) + 1;
                let wait = LONGEST.min(Duration::from_millis(500) * 2_u32.saturating_pow(tries));
                tracing::warn!(run = %id, detail = %problem.detail, tries, "a run cannot be taken up now");
                self.troubles.insert(id, (tries, Instant::now() + wait));
            }
        }
    }
}

/// Runs that nobody waits for leave room for those that somebody asks for.
fn has_room(daemon: &Daemon) -> bool {
    daemon.live().count() < daemon.settings().runs_at_once
}

/// Tells of questions that came and went since the last look, whoever asked and decided them.
async fn tell_questions(
    daemon: &Daemon,
    before: Option<HashMap<ApprovalId, ApprovalRequest>>,
    now: &HashMap<ApprovalId, ApprovalRequest>,
) -> Result<(), StoreError> {
    let Some(before) = before else { return Ok(()) };
    let mut asked: Vec<_> =
        now.values().filter(|request| !before.contains_key(&request.id)).collect();
    asked.sort_by_key(|request| request.id);
    for request in asked {
        daemon.live().asked(request);
    }
    for request in before.values().filter(|request| !now.contains_key(&request.id)) {
        let found = daemon.stores().approvals.get(request.id).await?;
        daemon.live().was_decided(request, found.and_then(|(_, record)| record).as_ref());
    }
    Ok(())
}
