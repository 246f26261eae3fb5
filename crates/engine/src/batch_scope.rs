//! State shared by the calls of one batch.

use std::sync::Arc;

use tokio::sync::Semaphore;
use toolcrib_core::{BatchSubscriber, CancellationToken, Context, Origin, ViewRequest};

use crate::child_calls::parent::ParentContext;
use crate::engine_inner::EngineInner;
use crate::open_runs::Run;
use crate::rules::RuleSet;
use crate::view::ResolvedView;

pub(crate) struct BatchScope {
    pub(crate) engine: Arc<EngineInner>,
    /// The engine's claim when the batch was received.
    epoch: u64,
    pub(crate) origin: Origin,
    pub(crate) context: Arc<Context>,
    pub(crate) view: Arc<ViewRequest>,
    pub(crate) resolved_view: Arc<ResolvedView>,
    pub(crate) run: Option<Arc<Run>>,
    /// Slots for concurrent calls of this batch; `None` for a batch of one call.
    pub(crate) slots: Option<Arc<Semaphore>>,
    /// Whether these calls may have run before.
    pub(crate) is_replay: bool,
    /// The running call that makes these calls, if any.
    pub(crate) parent: Option<Arc<ParentContext>>,
    pub(crate) subscriber: Option<Arc<dyn BatchSubscriber>>,
}

/// Owner of the calls.
pub(crate) struct ScopeOwner {
    pub(crate) origin: Origin,
    pub(crate) context: Arc<Context>,
    pub(crate) view: Arc<ViewRequest>,
    pub(crate) run: Option<Arc<Run>>,
}

/// Other properties of a batch.
#[derive(Default)]
pub(crate) struct ScopeOptions {
    pub(crate) subscriber: Option<Arc<dyn BatchSubscriber>>,
    pub(crate) is_replay: bool,
    pub(crate) parent: Option<Arc<ParentContext>>,
    /// Rules in place of those in force, for a dry run.
    pub(crate) rules: Option<RuleSet>,
}

impl BatchScope {
    pub(crate) fn new(
        engine: &Arc<EngineInner>,
        owner: ScopeOwner,
        calls: usize,
        options: ScopeOptions,
    ) -> Arc<Self> {
        let ScopeOwner { origin, context, view, run } = owner;
        let ScopeOptions { subscriber, is_replay, parent, rules } = options;
        let mut resolved_view = engine.registry.resolve_view(&view);
        if let Some(rules) = rules {
            let policy = resolved_view.policy.with_rules(rules, &engine.clock);
            resolved_view = Arc::new(resolved_view.with_policy(policy));
        }
        let at_once = resolved_view.policy.settings.batch_concurrency.max(1);
        let slots = match &parent {
            Some(parent) => parent.slots.clone(),
            None => (calls > 1).then(|| Arc::new(Semaphore::new(at_once))),
        };
        Arc::new(Self {
            engine: Arc::clone(engine),
            epoch: engine.epoch(),
            origin,
            context: mask_topic(engine, context),
            view,
            resolved_view,
            run,
            slots,
            is_replay,
            parent,
            subscriber,
        })
    }

    /// Returns a token that is cancelled with the parent, the run or the engine, or on its own.
    pub(crate) fn cancel_token(&self) -> CancellationToken {
        let parent = self.parent.as_ref().and_then(|parent| parent.cancel.as_ref());
        match (parent, &self.run) {
            (Some(parent), _) => parent.child_token(),
            (None, Some(run)) => run.cancel.child_token(),
            (None, None) => self.engine.shutdown.child_token(),
        }
    }

    /// Returns whether another process has taken over the claim since the batch was received,
    /// because this one was paused beyond its lease.
    pub(crate) fn lost_lease(&self) -> bool {
        self.epoch != self.engine.epoch()
    }
}

/// Masks secrets in the topic of the conversation, which is a person's own text and part of every
/// record.
fn mask_topic(engine: &EngineInner, context: Arc<Context>) -> Arc<Context> {
    if engine.secrets.is_empty() || context.topic.is_empty() {
        return context;
    }
    let topic = engine.secrets.mask(context.topic.clone());
    Arc::new(Context { topic, ..Context::clone(&context) })
}
