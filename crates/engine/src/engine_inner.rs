//! State shared by all calls of an engine.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, ApprovalStore, Approver, ArtifactStore, Batch, BatchSubscriber, BoxFuture,
    CallStore, CancellationToken, Clock, ErrorType, Exclusion, Gate, GrantStore, KillSwitch,
    Obstacle, StoreError, ToolError,
};

use crate::active_batches::ActiveBatches;
use crate::active_calls::CallTable;
use crate::artifact_streams::ArtifactStreams;
use crate::child_calls::parent::{ParentContext, ParentLocks};
use crate::concurrency_locks::ConcurrencyLocks;
use crate::gate::Preset;
use crate::late_records::LateRecords;
use crate::observers::Observers;
use crate::open_runs::Runs;
use crate::registry::Registry;
use crate::resume::pending_approvals::PendingApprovals;
use crate::resume::record_decision::{Decisions, SecretAccess};
use crate::secrets::{Sealing, Secrets};
use crate::settings::EngineSettings;
use crate::switch_cache::SwitchCache;

type RunBatch = fn(
    Arc<EngineInner>,
    Batch,
    Option<Arc<dyn BatchSubscriber>>,
    Option<Arc<ParentContext>>,
) -> BoxFuture<'static, Vec<Answer>>;

type ResumeCall = fn(
    Arc<EngineInner>,
    ApprovalId,
    bool,
) -> BoxFuture<'static, Result<Option<Answer>, DecideError>>;

/// Entry points for child calls of a running call. The builder sets these function pointers once;
/// otherwise a stage would depend on the pipeline that lists it.
pub(crate) struct Reentry {
    pub(crate) run: RunBatch,
    pub(crate) resume: ResumeCall,
}

/// State shared by all calls.
pub(crate) struct EngineInner {
    pub(crate) registry: Arc<Registry>,
    pub(crate) runs: Runs,
    pub(crate) concurrency_locks: ConcurrencyLocks,
    pub(crate) pending_approvals: PendingApprovals,
    pub(crate) parent_locks: ParentLocks,
    /// Every call that was received and has not ended.
    pub(crate) active_calls: CallTable,
    /// Gates of the host, which are part of every policy.
    pub(crate) gates: Vec<Arc<dyn Gate>>,
    pub(crate) kill_switch: Option<Arc<dyn KillSwitch>>,
    pub(crate) switch_cache: Option<SwitchCache>,
    pub(crate) observers: Observers,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) calls: Arc<dyn CallStore>,
    pub(crate) approvals: Arc<dyn ApprovalStore>,
    pub(crate) grants: Arc<dyn GrantStore>,
    pub(crate) artifacts: Arc<dyn ArtifactStore>,
    pub(crate) streams: Arc<ArtifactStreams>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) shutdown: CancellationToken,
    /// Data that another process needs to resume a call that waits in this one.
    pub(crate) setup: serde_json::Value,
    /// Identity of the environment of calls, stored with them.
    pub(crate) environment: String,
    /// Running batches of this process that were accepted under a key.
    pub(crate) active_batches: ActiveBatches,
    /// Separate presets of agents.
    pub(crate) agent_presets: RwLock<HashMap<String, Preset>>,
    /// Values that are masked in every result.
    pub(crate) secrets: Secrets,
    pub(crate) sealing: Sealing,
    pub(crate) late_records: LateRecords,
    pub(crate) epoch: AtomicU64,
    pub(crate) claiming: tokio::sync::Mutex<()>,
    pub(crate) received: AtomicU64,
    pub(crate) reentry: Reentry,
}

impl EngineInner {
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Claims the call store, unless already done. If the store records details, work left open by
    /// dead processes is recovered first.
    pub(crate) async fn claim(&self) -> Result<u64, StoreError> {
        if self.epoch() > 0 {
            return Ok(self.epoch());
        }
        let _one_at_a_time = self.claiming.lock().await;
        if self.epoch() == 0 {
            let epoch = self.calls.claim().await?;
            if self.calls.keeps_details()
                && let Err(error) = self.calls.recover(epoch, self.clock.now_ms()).await
            {
                // The next call claims again; this claim must not remain.
                let _ = self.calls.release(epoch).await;
                return Err(error);
            }
            self.epoch.store(epoch, Ordering::Release);
        }
        Ok(self.epoch())
    }

    /// Runs an operation under the claim. If another process has taken the claim over, the
    /// operation has had no effect and is repeated under a new claim.
    pub(crate) async fn under_claim<T, F>(
        &self,
        act: impl Fn(u64) -> F + Send,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let epoch = self.claim().await?;
        match act(epoch).await {
            Err(StoreError::Fenced { .. }) => {
                self.lost_claim(epoch);
                act(self.claim().await?).await
            }
            done => done,
        }
    }

    /// Returns the secrets and the sealer for texts that contain one.
    pub(crate) fn sealing(&self) -> &Sealing {
        &self.sealing
    }

    pub(crate) fn decisions(&self) -> Decisions<'_> {
        Decisions {
            approvals: &*self.approvals,
            grants: &*self.grants,
            clock: &*self.clock,
            sealing: &self.sealing,
            // An edit that reaches the engine directly comes from the terminal of its user.
            secret_access: SecretAccess::MayRead,
        }
    }

    /// Drops a claim that another process took over because its lease was not renewed in time. The
    /// next call creates a new claim.
    pub(crate) fn lost_claim(&self, epoch: u64) {
        let _ = self.epoch.compare_exchange(epoch, 0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Returns the preset for calls of this agent, under these settings.
    pub(crate) fn preset_of(&self, agent: &str, settings: &EngineSettings) -> Preset {
        if agent.is_empty() {
            return settings.preset;
        }
        let own = self.agent_presets.read().unwrap_or_else(PoisonError::into_inner);
        own.get(agent).copied().unwrap_or(settings.preset)
    }

    /// Returns whether any tool may run now: neither their switch nor the kill switch stops them.
    /// The result is never cached.
    pub(crate) fn tools_enabled(&self) -> bool {
        self.registry.tools_enabled()
            && !self.kill_switch.as_ref().is_some_and(|kill_switch| kill_switch.is_engaged())
    }

    /// Returns the error for a call that was received while every tool was stopped.
    pub(crate) fn tools_disabled(&self) -> ToolError {
        let text = match self.kill_switch.as_ref().and_then(|kill_switch| kill_switch.reason()) {
            Some(reason) => format!("Tools are disabled. {reason}"),
            None => "Tools are disabled.".to_owned(),
        };
        ToolError::new(ErrorType::ToolsDisabled, text)
            .with_instruction("Answer without calling tools.")
            .with_obstacle(Obstacle::Excluded { reason: Exclusion::KillSwitch })
    }

    /// Reads the stored switches if the cached ones are too old to start a call.
    pub(crate) async fn refresh_stale_switches(&self) -> Result<(), StoreError> {
        match &self.switch_cache {
            Some(stored) => stored.refresh_if_stale(&self.registry).await,
            None => Ok(()),
        }
    }

    pub(crate) fn count(&self) {
        self.received.fetch_add(1, Ordering::Relaxed);
    }
}
