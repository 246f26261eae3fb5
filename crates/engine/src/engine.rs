//! The public interface of the engine: the invoker, and queries and settings for the embedding
//! program.

pub(crate) mod builder;

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use toolcrib_core::invoker::DecideError;
use toolcrib_core::store::PendingApproval;
use toolcrib_core::{
    AcceptedBatch, Answer, ApprovalId, ApprovalStore, ArtifactStore, Batch, BatchSubscriber,
    BoxFuture, CallId, CallStore, Catalog, DecisionRecord, Entry, ErrorType, GrantStore, Invoker,
    Label, LabelSource, Labels, Recovered, RunId, RunSpec, RunUsage, StoreError, SwitchState, Tier,
    ToolError, ToolSpec,
};

use builder::{EngineBuilder, ends_of};

use crate::active_calls::RunningCall;
use crate::batch_idempotency::{self, SubmitError, Submitted};
use crate::budget;
use crate::dry_run::{self, DryRunReport};
use crate::engine_inner::EngineInner;
use crate::gate::Preset;
use crate::invoke;
use crate::open_runs::not_open;
use crate::policy::{ActivePolicy, Policy};
use crate::resume::recovery_result::RecoveredWork;
use crate::resume::{batch_before_decision, decide_and_resume, environment};
use crate::secrets::Sealing;
use crate::settings::EngineSettings;
use crate::switches::SwitchTarget;

/// The registry and the pipeline. Cloning is cheap; clones share one engine.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<EngineInner>,
}

impl Engine {
    /// Creates a builder.
    #[must_use]
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Returns the registry: views, switches, sources.
    #[must_use]
    pub fn catalog(&self) -> &dyn Catalog {
        &*self.inner.registry
    }

    /// Returns an owned handle of the registry.
    #[must_use]
    pub fn shared_catalog(&self) -> Arc<dyn Catalog> {
        Arc::clone(&self.inner.registry) as Arc<dyn Catalog>
    }

    /// Returns a function that reports the usage of an open run. It holds a weak reference, so that
    /// tools, which the engine owns, do not keep the engine alive.
    #[must_use]
    pub fn usage_of_runs(&self) -> Arc<dyn Fn(RunId) -> Option<RunUsage> + Send + Sync> {
        let inner = Arc::downgrade(&self.inner);
        Arc::new(move |run| Some(inner.upgrade()?.runs.get(run)?.budget.usage()))
    }

    /// Returns a lookup of the taint labels of runs that are open in this process. It holds a weak
    /// reference to the engine.
    #[must_use]
    pub fn labels_of_runs(&self) -> Arc<dyn Fn(RunId) -> Option<Labels> + Send + Sync> {
        let inner = Arc::downgrade(&self.inner);
        Arc::new(move |run| Some(Labels::clone(&inner.upgrade()?.runs.get(run)?.labels())))
    }

    /// Returns the definition of a tool by name or alias, whether it is switched on or not.
    #[must_use]
    pub fn spec(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.inner.registry.read().find_any_spelling(name).map(|tool| Arc::clone(tool.spec()))
    }

    /// Returns a registered tool by name or alias, whether it is switched on or not.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<Entry> {
        self.inner.registry.read().find_any_spelling(name).map(|tool| tool.entry.clone())
    }

    /// Returns the skills that are switched off. The engine itself has no skills; the library
    /// excludes these.
    #[must_use]
    pub fn skills_off(&self) -> std::collections::BTreeSet<String> {
        self.inner.registry.read().switches.skills_off()
    }

    /// Returns whether tools are enabled at all: neither their switch nor the kill switch stops
    /// them.
    #[must_use]
    pub fn tools_enabled(&self) -> bool {
        self.inner.tools_enabled()
    }

    /// Applies one switch, or its default for `None`, without changing the store. Switches above a
    /// tool do not change the tool's own switch.
    ///
    /// # Errors
    /// `validation_error` for a state that the switch cannot have; for a tool as
    /// [`Catalog::set_tool_state`].
    pub fn set_switch(
        &self,
        switched: &SwitchTarget,
        state: Option<SwitchState>,
    ) -> Result<(), ToolError> {
        match (switched, state) {
            (SwitchTarget::Tool(tool), Some(state)) => {
                self.inner.registry.set_tool_state(tool, state)
            }
            (_, Some(state)) if !switched.allows_state(state) => Err(ToolError::new(
                ErrorType::ValidationError,
                format!("Only a tool or a group is asked about; {} is on or off.", switched.name()),
            )),
            _ => {
                self.inner.registry.switch(switched, state);
                Ok(())
            }
        }
    }

    /// Applies the switches that are stored now, including changes by other processes. Running
    /// calls see them at their next step. Returns whether any switch changed; without a change, or
    /// without stored switches, this costs at most one read of the store.
    ///
    /// # Errors
    /// The error of the store; then nothing is changed.
    pub async fn refresh_switches(&self) -> Result<bool, StoreError> {
        match &self.inner.switch_cache {
            Some(stored) => stored.refresh(&self.inner.registry).await,
            None => Ok(false),
        }
    }

    /// Resolves when a call had to read the stored switches, because no [refresh] did within
    /// [`SWITCH_CACHE_TTL`](crate::SWITCH_CACHE_TTL): calls start again after a pause. Without
    /// stored switches, resolves after that time.
    ///
    /// [refresh]: Self::refresh_switches
    pub async fn switches_found_stale(&self) {
        match &self.inner.switch_cache {
            Some(stored) => stored.found_stale().await,
            None => tokio::time::sleep(crate::SWITCH_CACHE_TTL).await,
        }
    }

    /// Switches a group: `off` removes its tools from every view, `ask` requires an approval for
    /// each of their calls. Their own switches stay unchanged.
    pub fn set_group_state(&self, group: &str, state: SwitchState) {
        self.inner.registry.switch(&SwitchTarget::Group(group.to_owned()), Some(state));
    }

    /// Switches a source on or off; its calls end with `tools_disabled`.
    pub fn set_source_enabled(&self, source: &str, enabled: bool) {
        self.inner.registry.switch(&SwitchTarget::Source(source.to_owned()), Some(enabled.into()));
    }

    /// Switches a tier on or off; its calls end with `tools_disabled`.
    pub fn set_tier_enabled(&self, tier: Tier, enabled: bool) {
        self.inner.registry.switch(&SwitchTarget::Tier(tier), Some(enabled.into()));
    }

    /// Switches a feature, and with it the tools that it controls, on or off.
    pub fn set_feature_enabled(&self, feature: &str, enabled: bool) {
        self.inner
            .registry
            .switch(&SwitchTarget::Feature(feature.to_owned()), Some(enabled.into()));
    }

    /// Applies another policy as a whole, for every call that is received from now on, also in open
    /// runs. The new settings apply to every registered tool, every view is rebuilt, and secrets
    /// are added.
    ///
    /// A call is evaluated by the one policy that was in force when it was received, until its end,
    /// so that the question to a person and the run follow from the same rules. A call that has
    /// waited for a person or for a slot is refused right before it runs if the new policy denies
    /// it or it was switched off meanwhile.
    pub fn reconfigure(&self, policy: Policy) {
        let inner = &self.inner;
        inner.secrets.add(policy.secrets.iter().map(String::as_str));
        inner.streams.chars.store(ends_of(policy.settings.result_chars), Ordering::Relaxed);
        inner.registry.reconfigure(ActivePolicy::new(policy, &inner.gates, &inner.clock));
    }

    /// Returns the settings that apply to new calls.
    #[must_use]
    pub fn settings(&self) -> EngineSettings {
        self.inner.registry.policy().settings.clone()
    }

    /// Returns the running calls: from the record of their start until they have ended.
    #[must_use]
    pub fn running_calls(&self) -> Vec<RunningCall> {
        self.inner.active_calls.running()
    }

    /// Returns the number of calls that were received and have not ended: running calls, and calls
    /// that wait for a person or a slot in this process.
    #[must_use]
    pub fn active_call_count(&self) -> u64 {
        self.inner.active_calls.count()
    }

    /// Stops one call in any stage: a tool that has not started does not start, a running one is
    /// cancelled. Its outcome is `cancelled`, with a warning if it may have taken effect. `false`
    /// if this process has no such call.
    pub fn cancel_call(&self, call: CallId) -> bool {
        self.inner.active_calls.cancel(call)
    }

    /// Stops the selected running calls and returns their ids.
    pub fn cancel_all(&self, is_meant: impl Fn(&RunningCall) -> bool) -> Vec<CallId> {
        self.inner.active_calls.cancel_all(is_meant)
    }

    /// Sets a separate preset for the calls of an agent, in place of the engine's.
    pub fn set_agent_preset(&self, agent: &str, preset: Preset) {
        let mut own = self.inner.agent_presets.write().unwrap_or_else(PoisonError::into_inner);
        own.insert(agent.to_owned(), preset);
    }

    /// Claims the call store, unless already done, and returns the number of the claim. The first
    /// call does the same.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn claim(&self) -> Result<u64, StoreError> {
        self.inner.claim().await
    }

    /// Recovers what dead processes left open, see [`CallStore::recover`], and takes their
    /// unfinished batches that were accepted in the environment of this engine. The caller
    /// [finishes](Self::finish) these; the others stay for an engine with their environment.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn recover(&self) -> Result<RecoveredWork, StoreError> {
        let inner = &self.inner;
        let recover = |epoch| inner.calls.recover(epoch, inner.clock.now_ms());
        let Recovered { unknown, interrupted } = inner.under_claim(recover).await?;
        let batches = environment::take_abandoned(inner).await?;
        Ok(RecoveredWork { unknown, interrupted, batches })
    }

    /// Stores, before a decision, the promise that this engine runs the call of the question. Until
    /// the decision is stored, the promise survives only the death of this process. The caller ends
    /// the promise with [`CallStore::finish_batch`].
    ///
    /// # Errors
    /// The error of the store.
    pub async fn promise(&self, waiting: &PendingApproval) -> Result<AcceptedBatch, StoreError> {
        batch_before_decision::store(&self.inner, waiting).await
    }

    /// Returns the open promise of any process to run the call of a question.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn promised(
        &self,
        waiting: &PendingApproval,
    ) -> Result<Option<AcceptedBatch>, StoreError> {
        batch_before_decision::find(&self.inner, waiting).await
    }

    /// Returns why a waiting call must not be approved here: this engine cannot run it, or has
    /// another definition of its tool, which would void the approval. `None` if it may be approved.
    #[must_use]
    pub fn decision_obstacle(&self, waiting: &PendingApproval) -> Option<String> {
        environment::decision_obstacle(&self.inner, waiting)
    }

    /// Returns why this engine cannot run a call that waits for a decision: the call belongs to
    /// another environment, or the tool is missing. `None` if the engine can run it.
    #[must_use]
    pub fn obstacle(&self, waiting: &PendingApproval) -> Option<String> {
        environment::obstacle(&self.inner, waiting)
    }

    /// Runs an operation on the call store under this engine's claim. If another process has taken
    /// the claim over, because its lease expired while this process was paused, the operation has
    /// had no effect and is repeated under a new claim.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn under_claim<T, F>(&self, act: impl Fn(u64) -> F + Send) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        self.inner.under_claim(act).await
    }

    /// Ends the claim on the call store, once nothing runs any more.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn release(&self) -> Result<(), StoreError> {
        match self.inner.epoch.swap(0, Ordering::AcqRel) {
            0 => Ok(()),
            epoch => self.inner.calls.release(epoch).await,
        }
    }

    /// Accepts a batch and returns at once: from then on each of its calls gets its one outcome,
    /// even after a restart. Returns the ids of its calls, or those of the first batch if the key
    /// was used before.
    ///
    /// # Errors
    /// [`SubmitError`]; then nothing runs.
    pub async fn submit(&self, batch: Batch, key: Option<&str>) -> Result<Submitted, SubmitError> {
        batch_idempotency::submit(&self.inner, batch, key).await
    }

    /// Runs a batch once per key: a repeated request gets the same answers, and no call runs twice.
    ///
    /// # Errors
    /// [`SubmitError`]; then nothing runs.
    pub async fn invoke_once(&self, batch: Batch, key: &str) -> Result<Vec<Answer>, SubmitError> {
        batch_idempotency::invoke_once(&self.inner, batch, key).await
    }

    /// Works like [`invoke_once`](Self::invoke_once), and reports the accepted batch before it
    /// runs: from then on each of its calls gets its one outcome, even after a restart.
    ///
    /// # Errors
    /// As [`invoke_once`](Self::invoke_once); if no acceptance was reported, nothing runs.
    pub async fn accept_once(
        &self,
        batch: Batch,
        key: &str,
        told: impl FnOnce(&Submitted) + Send,
    ) -> Result<Vec<Answer>, SubmitError> {
        batch_idempotency::accept_once(&self.inner, batch, key, told).await
    }

    /// Runs the calls through the same stages as real calls, up to policy, and reports the result.
    /// No tool runs, no approver is asked, no observer is notified, and nothing is recorded. Guard
    /// hooks are called; the repeat guard and the budget are skipped.
    pub async fn dry_run(&self, batch: Batch) -> Vec<DryRunReport> {
        dry_run::run(Arc::clone(&self.inner), batch, None).await
    }

    /// Works like [`dry_run`](Self::dry_run), with these rules in place of those in force.
    pub async fn dry_run_with_rules(
        &self,
        batch: Batch,
        rules: crate::rules::RuleSet,
    ) -> Vec<DryRunReport> {
        dry_run::run(Arc::clone(&self.inner), batch, Some(rules)).await
    }

    /// Continues a batch that [`Engine::recover`] took over, and waits for its answers.
    pub async fn finish(&self, batch: AcceptedBatch) -> Vec<Answer> {
        batch_idempotency::finish(&self.inner, batch).await
    }

    /// Returns the known secrets and the sealer for texts that contain one.
    #[must_use]
    pub fn sealing(&self) -> &Sealing {
        &self.inner.sealing
    }

    /// Returns the store of remembered approvals.
    #[must_use]
    pub fn grants(&self) -> &dyn GrantStore {
        &*self.inner.grants
    }

    /// Returns the store of questions to people.
    #[must_use]
    pub fn approvals(&self) -> &dyn ApprovalStore {
        &*self.inner.approvals
    }

    /// Returns the store of recorded calls.
    #[must_use]
    pub fn calls(&self) -> &dyn CallStore {
        &*self.inner.calls
    }

    /// Returns the store of large results.
    #[must_use]
    pub fn artifacts(&self) -> &Arc<dyn ArtifactStore> {
        &self.inner.artifacts
    }

    /// Returns the number of calls that were received since the start.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.inner.received.load(Ordering::Relaxed)
    }

    /// Waits until observers have received all events so far, and returns the number of events that
    /// were dropped because observers were too slow.
    pub async fn flush_observers(&self) -> u64 {
        self.inner.observers.flush().await;
        self.inner.observers.dropped_events()
    }

    /// Returns the number of events that were dropped because observers were too slow.
    #[must_use]
    pub fn dropped_events(&self) -> u64 {
        self.inner.observers.dropped_events()
    }

    /// Stops every call and every run.
    pub fn shut_down(&self) {
        self.inner.shutdown.cancel();
    }
}

impl Invoker for Engine {
    fn invoke(&self, batch: Batch) -> BoxFuture<'_, Vec<Answer>> {
        Box::pin(invoke::run(Arc::clone(&self.inner), batch, None, None))
    }

    fn invoke_with_subscriber(
        &self,
        batch: Batch,
        watch: Arc<dyn BatchSubscriber>,
    ) -> BoxFuture<'_, Vec<Answer>> {
        Box::pin(invoke::run(Arc::clone(&self.inner), batch, Some(watch), None))
    }

    fn refuse(&self, batch: Batch, error: ToolError) -> BoxFuture<'_, Vec<Answer>> {
        Box::pin(invoke::refuse(Arc::clone(&self.inner), batch, error))
    }

    fn decide(
        &self,
        approval: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Option<Answer>, DecideError>> {
        Box::pin(decide_and_resume::decide(Arc::clone(&self.inner), approval, decision))
    }

    fn resume(&self, approval: ApprovalId) -> BoxFuture<'_, Result<Option<Answer>, DecideError>> {
        Box::pin(decide_and_resume::resume(Arc::clone(&self.inner), approval, false))
    }

    fn open_run(&self, spec: RunSpec) -> Result<RunId, ToolError> {
        self.inner.runs.open(spec, &self.inner.shutdown)
    }

    fn charge_tokens(&self, run: RunId, tokens: u64) -> Result<(), ToolError> {
        let run = self.inner.runs.get(run).ok_or_else(|| not_open(run))?;
        run.budget.charge_tokens(tokens).map_err(budget::exceeded)
    }

    fn charge_time(&self, run: RunId, time: Duration) {
        if let Some(run) = self.inner.runs.get(run) {
            run.budget.charge_time(time);
        }
    }

    fn labels(&self, run: RunId) -> Option<Labels> {
        self.inner.runs.get(run).map(|run| Labels::clone(&run.labels()))
    }

    fn raise_label(&self, run: RunId, label: Label, by: LabelSource) {
        if let Some(run) = self.inner.runs.get(run) {
            run.raise(label, &by);
        }
    }

    fn usage(&self, run: RunId) -> Option<RunUsage> {
        self.inner.runs.get(run).map(|run| run.budget.usage())
    }

    fn cancel_run(&self, run: RunId) {
        if let Some(run) = self.inner.runs.get(run) {
            run.cancel.cancel();
        }
    }

    fn close_run(&self, run: RunId) -> Option<RunUsage> {
        self.inner.runs.close(run)
    }
}
