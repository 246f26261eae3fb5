//! The state that all parts of the supervisor share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use toolcrib_app::runner::Runner;
use toolcrib_app::{Stores, Toolcrib};
use toolcrib_assistant::draft::Draft;
use toolcrib_core::{
    AcceptedBatch, ApprovalRequest, CancellationToken, ConversationId, DecisionRecord, RunId,
    StoreError, StoredRun,
};
use toolcrib_ops::runs::{self, RunSnapshot};

use super::active_run::ActiveRun;
use super::broadcast::Broadcast;
use super::key_locks::KeyLocks;
use super::run_registry::{RunLimits, RunRefused, RunRegistry};
use crate::daemon_host::DaemonHost;
use crate::telemetry::Telemetry;

/// Settings of the supervisor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SupervisorSettings {
    /// Maximum number of concurrently driven runs.
    pub(crate) max_runs: usize,
    /// Maximum number of concurrently driven runs of one client.
    pub(crate) max_runs_per_client: usize,
    /// Interval of scans of the recovery loop.
    pub(crate) recovery_interval: Duration,
    /// Time for which runs may continue after the daemon was told to stop.
    pub(crate) drain: Duration,
}

/// Supervises the runs of this process. Clones share the state.
#[derive(Clone)]
pub(crate) struct RunSupervisor {
    inner: Arc<Inner>,
}

struct Inner {
    toolcrib: Toolcrib,
    runner: Runner,
    host: Arc<dyn DaemonHost>,
    telemetry: Telemetry,
    settings: SupervisorSettings,
    shutdown: CancellationToken,
    registry: Mutex<RunRegistry>,
    /// Notified when a run is no longer driven.
    run_released: Notify,
    broadcast: Broadcast,
    /// Starts the next scan of the recovery loop.
    wake: Notify,
    /// Notified when a request has ended that may have opened a run in the engine.
    request_ended: Notify,
    key_locks: KeyLocks,
    /// Runs of responses that are open in the engine for calls decided later, each with the number
    /// of these calls.
    reopened: Mutex<HashMap<RunId, usize>>,
    postponed: Mutex<Vec<AcceptedBatch>>,
}

/// The right to drive a run, returned on drop.
pub(super) struct RunPermit {
    supervisor: RunSupervisor,
    run: RunId,
}

impl Drop for RunPermit {
    fn drop(&mut self) {
        self.supervisor.registry().release(self.run);
        self.supervisor.inner.run_released.notify_waiters();
    }
}

impl RunSupervisor {
    /// Creates a supervisor without runs. `shutdown` tells it to pause all runs.
    pub(crate) fn new(
        toolcrib: Toolcrib,
        runner: Runner,
        host: Arc<dyn DaemonHost>,
        telemetry: Telemetry,
        settings: SupervisorSettings,
        shutdown: CancellationToken,
    ) -> Self {
        let inner = Inner {
            toolcrib,
            runner,
            host,
            telemetry,
            settings,
            shutdown,
            registry: Mutex::default(),
            run_released: Notify::new(),
            broadcast: Broadcast::default(),
            wake: Notify::new(),
            request_ended: Notify::new(),
            key_locks: KeyLocks::default(),
            reopened: Mutex::default(),
            postponed: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub(crate) fn toolcrib(&self) -> &Toolcrib {
        &self.inner.toolcrib
    }

    pub(crate) fn stores(&self) -> &Stores {
        self.inner.toolcrib.stores()
    }

    /// Loads the snapshot of a stored run, with secrets masked.
    pub(crate) async fn load_snapshot(&self, run: &StoredRun) -> Result<RunSnapshot, StoreError> {
        let secrets = &self.toolcrib().engine().sealing().secrets;
        runs::load_snapshot(self.stores(), secrets, run).await
    }

    pub(super) fn runner(&self) -> &Runner {
        &self.inner.runner
    }

    pub(super) fn host(&self) -> &dyn DaemonHost {
        &*self.inner.host
    }

    pub(super) fn telemetry(&self) -> &Telemetry {
        &self.inner.telemetry
    }

    pub(super) fn settings(&self) -> &SupervisorSettings {
        &self.inner.settings
    }

    pub(crate) fn shutdown_token(&self) -> &CancellationToken {
        &self.inner.shutdown
    }

    pub(super) fn key_locks(&self) -> &KeyLocks {
        &self.inner.key_locks
    }

    pub(super) fn registry(&self) -> MutexGuard<'_, RunRegistry> {
        self.inner.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the accepted batches that this process cannot finish now.
    pub(super) fn postponed_batches(&self) -> MutexGuard<'_, Vec<AcceptedBatch>> {
        self.inner.postponed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn reopened_runs(&self) -> MutexGuard<'_, HashMap<RunId, usize>> {
        self.inner.reopened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acquires the right to drive a run; see [`RunRegistry::acquire`].
    pub(super) fn acquire_permit(
        &self,
        run: RunId,
        conversation: ConversationId,
        client: Option<&str>,
    ) -> Result<RunPermit, RunRefused> {
        let SupervisorSettings { max_runs, max_runs_per_client, .. } = self.inner.settings;
        let limits = RunLimits { total: max_runs, per_client: max_runs_per_client };
        self.registry().acquire(run, conversation, client, limits)?;
        Ok(RunPermit { supervisor: self.clone(), run })
    }

    /// Returns a run whose events this process reports.
    pub(crate) fn get(&self, id: RunId) -> Option<Arc<ActiveRun>> {
        self.registry().runs.get(&id).cloned()
    }

    /// Starts to report the events of a paused run that got a subscriber, in case it continues in
    /// this process.
    pub(crate) fn track(&self, run: &StoredRun, snapshot: RunSnapshot) -> Arc<ActiveRun> {
        let mut registry = self.registry();
        if let Some(active) = registry.runs.get(&run.id) {
            return Arc::clone(active);
        }
        let owner = run.context.owner.clone();
        let active = Arc::new(ActiveRun::new(run.id, run.conversation, owner, snapshot));
        active.start_epoch(run.epoch);
        registry.runs.insert(run.id, Arc::clone(&active));
        active
    }

    /// Returns whether a task of this process drives the run.
    pub(crate) fn is_driving(&self, id: RunId) -> bool {
        self.registry().is_driving(id)
    }

    /// Returns the number of runs that this process drives.
    pub(crate) fn active_count(&self) -> usize {
        self.registry().driven_count()
    }

    /// Returns the number of subscribers of all runs.
    pub(crate) fn subscriber_count(&self) -> usize {
        self.registry().runs.values().map(|run| run.subscriber_count()).sum()
    }

    /// Resolves when a run is no longer driven. Register before checking the condition.
    pub(super) fn run_released(&self) -> Notified<'_> {
        self.inner.run_released.notified()
    }

    /// Returns the events of all runs, questions and switches.
    pub(crate) fn broadcast(&self) -> &Broadcast {
        &self.inner.broadcast
    }

    /// Starts the next scan of the recovery loop at once, because a question was asked or decided.
    pub(crate) fn wake(&self) {
        self.inner.wake.notify_one();
    }

    /// Resolves after [`wake`](Self::wake).
    pub(super) fn woken(&self) -> Notified<'_> {
        self.inner.wake.notified()
    }

    /// Notifies that a request has ended, and with it the run that the engine may have opened for
    /// it.
    pub(crate) fn notify_request_ended(&self) {
        self.inner.request_ended.notify_waiters();
    }

    /// Resolves after [`notify_request_ended`](Self::notify_request_ended).
    pub(super) fn request_ended(&self) -> Notified<'_> {
        self.inner.request_ended.notified()
    }

    /// Publishes a changed feature switch or kill switch. `row` is its row.
    pub(crate) fn publish_switch(&self, row: &impl Serialize) {
        self.inner.broadcast.publish(None, "switch", row);
    }

    /// Publishes a new or dismissed notification.
    pub(crate) fn publish_notification(&self, owner: &str, id: &str, dismissed_at: Option<i64>) {
        let row = json!({ "notification": id, "dismissed_at": dismissed_at });
        self.inner.broadcast.publish(Some(owner), "notification", &row);
    }

    /// Publishes a new draft, or a change of its content or status.
    pub(crate) fn publish_draft(&self, owner: &str, draft: &Draft) {
        let row = json!({
            "draft": draft.id, "kind": draft.kind.as_str(), "status": draft.status.as_str(),
            "version": draft.version,
        });
        self.inner.broadcast.publish(Some(owner), "drafts.changed", &row);
    }

    /// Publishes that a conversation was renamed, branched, deleted or restored.
    pub(crate) fn publish_conversation(&self, owner: &str, id: ConversationId, is_deleted: bool) {
        let row = json!({ "conversation": id, "deleted": is_deleted });
        self.inner.broadcast.publish(Some(owner), "conversations.changed", &row);
    }

    /// Publishes a question to a person.
    pub(super) fn publish_approval(&self, request: &ApprovalRequest) {
        let broadcast = &self.inner.broadcast;
        broadcast.publish(Some(&request.context.owner), "approval", &approval_row(request));
    }

    /// Publishes a decision of a person.
    pub(super) fn publish_decision(
        &self,
        request: &ApprovalRequest,
        record: Option<&DecisionRecord>,
    ) {
        let decision = record.and_then(|record| serde_json::to_value(&record.decision).ok());
        let row = json!({
            "approval": request.id, "call": request.call, "run": request.run, "tool": request.tool,
            "decision": decision.as_ref().and_then(|decision| decision.get("decision")),
            "by": record.map(|record| record.decided_by.as_str()),
            "at": record.map(|record| record.decided_at),
        });
        self.inner.broadcast.publish(Some(&request.context.owner), "decision", &row);
    }
}

/// Returns a question without its content, which clients read by its id.
pub(crate) fn approval_row(request: &ApprovalRequest) -> Value {
    json!({
        "approval": request.id, "call": request.call, "run": request.run, "tool": request.tool,
        "operation": request.operation, "risk": request.risk, "requested_at": request.requested_at,
        "expires_at": request.expires_at, "is_question": request.question.is_some(),
    })
}
