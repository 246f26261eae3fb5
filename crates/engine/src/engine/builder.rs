//! Builds an engine from stores, policy, guards and observers, each with a default that needs no
//! configuration.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLock};

use toolcrib_core::{
    ApprovalStore, Approver, ArtifactStore, CallStore, CancellationToken, Clock, Gate, GrantStore,
    Guard, KillSwitch, Observer, Permissions, Sealer, SwitchStore, SystemClock,
};

use super::Engine;
use crate::active_batches::ActiveBatches;
use crate::active_calls::CallTable;
use crate::artifact_streams::ArtifactStreams;
use crate::child_calls::parent::ParentLocks;
use crate::concurrency_locks::ConcurrencyLocks;
use crate::engine_inner::{EngineInner, Reentry};
use crate::invoke;
use crate::late_records::LateRecords;
use crate::observers::Observers;
use crate::open_runs::Runs;
use crate::policy::{ActivePolicy, Policy};
use crate::registry::Registry;
use crate::resume::decide_and_resume;
use crate::resume::pending_approvals::PendingApprovals;
use crate::rules::RuleSet;
use crate::secrets::{Sealing, Secrets};
use crate::settings::EngineSettings;
use crate::store::{MemoryApprovals, MemoryArtifacts, MemoryCalls, MemoryGrants};
use crate::switch_cache::SwitchCache;

/// Builder of an engine.
pub struct EngineBuilder {
    policy: Policy,
    gates: Vec<Arc<dyn Gate>>,
    kill_switch: Option<Arc<dyn KillSwitch>>,
    stored_switches: Option<SwitchCache>,
    observers: Vec<Arc<dyn Observer>>,
    approver: Option<Arc<dyn Approver>>,
    calls: Arc<dyn CallStore>,
    approvals: Arc<dyn ApprovalStore>,
    grants: Arc<dyn GrantStore>,
    artifacts: Arc<dyn ArtifactStore>,
    clock: Arc<dyn Clock>,
    sealing: Sealing,
    setup: serde_json::Value,
    environment: String,
}

impl Default for EngineBuilder {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            gates: Vec::new(),
            kill_switch: None,
            stored_switches: None,
            observers: Vec::new(),
            approver: None,
            calls: Arc::new(MemoryCalls::light()),
            approvals: Arc::new(MemoryApprovals::default()),
            grants: Arc::new(MemoryGrants::default()),
            artifacts: Arc::new(MemoryArtifacts::default()),
            clock: Arc::new(SystemClock),
            sealing: Sealing::default(),
            setup: serde_json::Value::Null,
            environment: String::new(),
        }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident in $place:ident$(.$part:ident)?: $type:ty;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(mut $place, $name: $type) -> Self {
            $place$(.$part)?.$name = $name;
            $place
        })*
    };
}

impl EngineBuilder {
    setters! {
        /// Preset, per-tool overrides and limits.
        settings in self.policy: EngineSettings;
        /// The host's permissions; all granted by default.
        permissions in self.policy: Arc<dyn Permissions>;
        /// The rules of all layers, evaluated after the permissions. Tools that one of them denies
        /// to all callers are in no view.
        rules in self.policy: RuleSet;
        /// Values that are masked in every result, in addition to configured values that tool
        /// definitions declare as secret: keys of providers, all secrets of the vault.
        secrets in self.policy: Vec<String>;
        /// Store of calls and outcomes.
        calls in self: Arc<dyn CallStore>;
        /// Store of questions to people.
        approvals in self: Arc<dyn ApprovalStore>;
        /// Store of remembered approvals.
        grants in self: Arc<dyn GrantStore>;
        /// Store of large results.
        artifacts in self: Arc<dyn ArtifactStore>;
        /// Source of wall-clock time.
        clock in self: Arc<dyn Clock>;
        /// Data that another process needs to resume a call that waits for a person; stored with
        /// the question. The engine adds the member `worker` to an object: its number in the call
        /// store.
        setup in self: serde_json::Value;
        /// Identity of workspace, policy and tools. It is stored with calls that another process
        /// may run; only an engine of the same identity runs such a call.
        environment in self: String;
    }

    /// Sets the kill switch that stops every tool from outside the process; none by default. The
    /// engine checks it when a call is received, right before its start is recorded, and right
    /// after that if the call may change something.
    #[must_use]
    pub fn kill_switch(mut self, kill_switch: Arc<dyn KillSwitch>) -> Self {
        self.kill_switch = Some(kill_switch);
        self
    }

    /// Sets the store of this owner's switches; without one, only switches set on this engine
    /// apply. A call does not start on switches read more than
    /// [`SWITCH_CACHE_TTL`](crate::SWITCH_CACHE_TTL) ago: the engine first reads them again, and if
    /// that fails, the call does not run.
    #[must_use]
    pub fn switches(mut self, store: Arc<dyn SwitchStore>, owner: &str) -> Self {
        self.stored_switches = Some(SwitchCache::new(store, owner.to_owned()));
        self
    }

    /// Sets settings, permissions, rules, guards and secrets at once and replaces earlier values.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the sealer for stored arguments that contain secrets; by default it uses a key that
    /// ends with the process, so that no other process can resume such a call.
    #[must_use]
    pub fn sealer(mut self, sealer: Arc<dyn Sealer>) -> Self {
        self.sealing = Sealing::new(Secrets::default(), sealer);
        self
    }

    /// Sets the approver. Without one, calls that need an approval are denied.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Adds a gate after those of permissions, rules and taint, which are always present.
    #[must_use]
    pub fn gate(mut self, gate: Arc<dyn Gate>) -> Self {
        self.gates.push(gate);
        self
    }

    /// Appends a guard hook.
    #[must_use]
    pub fn guard(mut self, guard: Arc<dyn Guard>) -> Self {
        self.policy.guards.push(guard);
        self
    }

    /// Appends an observer.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Builds the engine, without tools: attach sources to its catalog.
    #[must_use]
    pub fn build(self) -> Engine {
        // The registry adds configured values of tools with the definitions that declare them
        // secret.
        let secrets = self.sealing.secrets.clone();
        secrets.add(self.policy.secrets.iter().map(String::as_str));
        let settings_chars = self.policy.settings.result_chars;
        let policy = ActivePolicy::new(self.policy, &self.gates, &self.clock);
        Engine {
            inner: Arc::new(EngineInner {
                registry: Arc::new(Registry::new(policy, secrets.clone())),
                runs: Runs::default(),
                concurrency_locks: ConcurrencyLocks::default(),
                pending_approvals: PendingApprovals::default(),
                parent_locks: ParentLocks::default(),
                active_calls: CallTable::default(),
                gates: self.gates,
                kill_switch: self.kill_switch,
                switch_cache: self.stored_switches,
                observers: Observers::new(self.observers),
                approver: self.approver,
                calls: self.calls,
                approvals: self.approvals,
                grants: self.grants,
                streams: Arc::new(ArtifactStreams {
                    artifacts: Arc::clone(&self.artifacts),
                    secrets: secrets.clone(),
                    chars: ends_of(settings_chars).into(),
                }),
                artifacts: self.artifacts,
                clock: self.clock,
                shutdown: CancellationToken::new(),
                setup: self.setup,
                environment: self.environment,
                active_batches: ActiveBatches::default(),
                sealing: self.sealing,
                late_records: LateRecords::default(),
                secrets,
                epoch: AtomicU64::new(0),
                claiming: tokio::sync::Mutex::default(),
                received: AtomicU64::new(0),
                reentry: Reentry {
                    run: |engine, batch, subscriber, parent| {
                        Box::pin(invoke::run(engine, batch, subscriber, parent))
                    },
                    resume: |engine, id, in_parent| {
                        Box::pin(decide_and_resume::resume(engine, id, in_parent))
                    },
                },
                agent_presets: RwLock::default(),
            }),
        }
    }
}

/// Returns the characters for the beginning and the end of a stream, minus room for the counts and
/// the marker.
pub(super) fn ends_of(result_chars: usize) -> usize {
    result_chars.saturating_sub(NOTICE_CHARS)
}

/// Characters reserved for the lines around the beginning and the end of a stream.
const NOTICE_CHARS: usize = 600;
