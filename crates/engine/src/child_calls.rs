//! Child calls of a running call: each passes the pipeline like any other call, inside its parent.
//! If one of them waits for a person, the parent is suspended, and the decision resumes both
//! (`resume/`).

pub(crate) mod parent;
mod stopwatch;
mod user_question;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, ArtifactRef, Batch, BatchSubscriber, BoxFuture, Call,
    CallId, CancellationToken, ChildCallSpec, ChildInvoker, Context, DecisionRecord, ErrorType,
    Origin, Outcome, ParentCall, RawArgs, ToolError, View, effective_channel,
};

use crate::answer_without_call::answer_without_call;
use crate::artifact_references;
use crate::call_state::CallState;
use crate::engine_inner::EngineInner;
use crate::resume::record_decision::NO_APPROVER;
use parent::ParentContext;
use stopwatch::{ApprovalWaitTimer, Stopwatch, StopwatchGuard};

/// Interval for polling a call that runs in another process.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The child calls of one running call.
pub(crate) struct ChildCalls {
    engine: Arc<EngineInner>,
    parent: Arc<Batch>,
    context: Arc<Context>,
    is_replay: bool,
    cancel: CancellationToken,
    slots: Arc<Semaphore>,
    waits: Arc<Stopwatch>,
    busy: Stopwatch,
    questions: AtomicU32,
    unapproved: AtomicU32,
    watch: Option<Arc<dyn BatchSubscriber>>,
}

impl ChildCalls {
    pub(crate) fn of(call: &CallState) -> Self {
        let scope = &call.scope;
        let args = RawArgs::Value(call.args.display().cloned().unwrap_or_default());
        let parent_call = Call { id: call.id, name: call.asked.clone(), args };
        let parent = Batch {
            run: scope.run.as_ref().map(|run| run.id),
            context: Arc::clone(&scope.context),
            view: Arc::clone(&scope.view),
            is_replay: true,
            parent_call: scope.parent.as_ref().map(|parent| Box::new(parent.within.clone())),
            ..Batch::new(scope.origin, vec![parent_call])
        };
        // The calls of a script have their parent's channel.
        let mut context = Arc::clone(&scope.context);
        if context.channel.is_empty() {
            let channel = effective_channel(&context, scope.origin).to_owned();
            context = Arc::new(Context { channel, ..Context::clone(&context) });
        }
        let at_once = call.policy().settings.batch_concurrency.max(1);
        Self {
            engine: Arc::clone(call.engine()),
            parent: Arc::new(parent),
            context,
            is_replay: scope.is_replay,
            cancel: call.cancel.clone(),
            slots: Arc::new(Semaphore::new(at_once)),
            waits: Arc::default(),
            busy: Stopwatch::default(),
            questions: AtomicU32::new(0),
            unapproved: AtomicU32::new(0),
            watch: scope.subscriber.clone(),
        }
    }

    /// Returns the time in which child calls ran or waited.
    pub(crate) fn busy(&self) -> Duration {
        self.busy.total()
    }

    /// Returns the number of child calls at any depth that were denied because no approver could be
    /// asked.
    pub(crate) fn unapproved(&self) -> u32 {
        self.unapproved.load(Ordering::Relaxed)
    }

    /// Counts a denial that no person decided.
    async fn count_unapproved(&self, outcome: &Outcome) {
        let mut count = outcome.report.unapproved_children;
        if outcome.error_type() == Some(ErrorType::ApprovalDenied) {
            let question = self.engine.approvals.for_call(outcome.call).await;
            let decided = question.ok().flatten().and_then(|(_, record)| record);
            let by_person = decided.is_some_and(|record| record.decided_by != NO_APPROVER);
            count += u32::from(!by_person);
        }
        self.unapproved.fetch_add(count, Ordering::Relaxed);
    }

    /// Runs a call; `is_replay` means that it may have run before.
    async fn run(&self, call: Call, turn: ChildCallSpec, is_replay: bool) -> Answer {
        let _busy = StopwatchGuard::of(&self.busy);
        if is_replay && !self.wait_until_free(call.id).await {
            let text = "The call was stopped while it ran elsewhere. Whether it took effect is unknown: check before you call it again.";
            return answer_without_call(call, ToolError::new(ErrorType::UnknownOutcome, text));
        }
        let ChildCallSpec { limit, number, max_calls: most } = turn;
        let within = ParentCall { parent: Arc::clone(&self.parent), limit, number, most };
        let inside = ParentContext {
            within: within.clone(),
            cancel: Some(self.cancel.clone()),
            slots: Some(Arc::clone(&self.slots)),
        };
        let parent = self.parent.calls.first().map_or(call.id, |parent| parent.id);
        let watch = ApprovalWaitTimer::new(Arc::clone(&self.waits), self.watch.clone(), parent);
        let batch = Batch {
            run: self.parent.run,
            context: Arc::clone(&self.context),
            view: Arc::clone(&self.parent.view),
            is_replay,
            ..Batch::new(Origin::Chain, vec![call.clone()])
        };
        let watch = Some(Arc::new(watch) as Arc<dyn BatchSubscriber>);
        let engine = Arc::clone(&self.engine);
        let inside = Some(Arc::new(inside));
        match (self.engine.reentry.run)(engine, batch.clone(), watch, inside).await.pop() {
            Some(Answer::Done(outcome)) => {
                self.count_unapproved(&outcome).await;
                self.asked(*outcome, batch, within).await
            }
            Some(waits) => waits,
            None => answer_without_call(call, ToolError::execution("no answer")),
        }
    }

    /// Returns the outcome, or the person's answer if the outcome is a question to a person.
    async fn asked(&self, outcome: Outcome, batch: Batch, within: ParentCall) -> Answer {
        let Some(question) = user_question::from_outcome(&outcome) else {
            return Answer::Done(Box::new(outcome));
        };
        if self.questions.fetch_add(1, Ordering::Relaxed) >= user_question::MAX_QUESTIONS {
            let text = format!(
                "A script asks at most {} questions; this one was not asked. Go on with what you know.",
                user_question::MAX_QUESTIONS
            );
            return user_question::failed_answer(outcome, ToolError::execution(text));
        }
        user_question::answer(&self.engine, outcome, question, batch, within).await
    }

    /// Returns the question as subscribers see it: for them the parent waits.
    fn masked_request(&self, request: &ApprovalRequest) -> ApprovalRequest {
        let parent = self.parent.calls.first().map_or(request.call, |parent| parent.id);
        ApprovalRequest { call: parent, ..request.clone() }
    }

    /// Waits for a decision within the timeout; the time counts as waiting for people.
    async fn decision(
        &self,
        request: &ApprovalRequest,
        at_most: Duration,
    ) -> Option<DecisionRecord> {
        let _waits = StopwatchGuard::of(&self.waits);
        // Otherwise the task that asked about the call has reported it.
        let is_untold = self.is_replay || request.question.is_some();
        if let Some(watch) = self.watch.as_ref().filter(|_| is_untold) {
            watch.on_approval_request(&self.masked_request(request));
        }
        let end = Instant::now() + at_most;
        loop {
            let stored = self.engine.approvals.get(request.id).await;
            if let Ok(Some((_, Some(record)))) = stored {
                return Some(record);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            tokio::select! {
                () = self.cancel.cancelled() => return None,
                () = tokio::time::sleep(left.min(POLL_INTERVAL)) => {}
            }
        }
    }

    /// Waits until no other task runs this call; `false` if the waiting call was stopped meanwhile.
    async fn wait_until_free(&self, call: CallId) -> bool {
        loop {
            match self.engine.calls.call(call).await {
                Ok(Some(stored)) if stored.row.end.is_none() && stored.is_owner_alive => {}
                _ => return true,
            }
            tokio::select! {
                () = self.cancel.cancelled() => return false,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }
}

/// Closes a question that no task waits for any more. If an approver was faster, their decision
/// applies. `None` if the decision could not be stored.
async fn recorded_decision(engine: &EngineInner, question: ApprovalId) -> Option<DecisionRecord> {
    let over = DecisionRecord::expiry(engine.clock.now_ms());
    match engine.approvals.decide(question, over.clone()).await.ok()? {
        Ok(()) => Some(over),
        Err(first) => Some(first),
    }
}

/// A question that a script waits for without being suspended. Dropping it closes the question and
/// ends its call, because no task is left to resume it.
struct OpenQuestion<'a> {
    engine: &'a Arc<EngineInner>,
    id: Option<ApprovalId>,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id, tokio::runtime::Handle::try_current()) else {
            return;
        };
        let engine = Arc::clone(self.engine);
        runtime.spawn(async move {
            if recorded_decision(&engine, id).await.is_some_and(|record| record.is_expiry()) {
                // A failed write is repeated by the next request for this call.
                let _ = (engine.reentry.resume)(Arc::clone(&engine), id, true).await;
            }
        });
    }
}

impl ChildInvoker for ChildCalls {
    fn view(&self) -> Arc<View> {
        Arc::clone(&self.engine.registry.resolve_view(&self.parent.view).view)
    }

    fn is_replay(&self) -> bool {
        self.is_replay
    }

    fn approval_wait(&self) -> Duration {
        self.waits.total()
    }

    fn read_artifact(&self, artifact: &ArtifactRef) -> Result<String, ToolError> {
        artifact_references::text(&artifact.0, &*self.engine.artifacts, &self.context.owner)
    }

    fn invoke(&self, call: Call, turn: ChildCallSpec) -> BoxFuture<'_, Answer> {
        Box::pin(self.run(call, turn, self.is_replay))
    }

    fn resume_when_decided<'a>(
        &'a self,
        call: Call,
        turn: ChildCallSpec,
        request: &'a ApprovalRequest,
        at_most: Duration,
    ) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async move {
            let mut open = OpenQuestion { engine: &self.engine, id: Some(request.id) };
            let record = match self.decision(request, at_most).await {
                Some(record) => record,
                None => recorded_decision(&self.engine, request.id).await?,
            };
            if let Some(watch) = &self.watch {
                watch.on_decision(&self.masked_request(request), &record);
            }
            let answer = self.run(call, turn, true).await;
            open.id = None;
            Some(answer).filter(|_| !record.is_expiry())
        })
    }
}

/// Waits for a running call within its time limit, which excludes waiting for people. `None` if the
/// time is used up.
pub(crate) async fn with_timeout<T>(
    mut running: Pin<&mut (impl Future<Output = T> + Send)>,
    time: Duration,
    children: &ChildCalls,
) -> Option<T> {
    let begun = Instant::now();
    loop {
        let left = (time + children.approval_wait()).saturating_sub(begun.elapsed());
        if left.is_zero() {
            return None;
        }
        if let Ok(ended) = tokio::time::timeout(left, running.as_mut()).await {
            return Some(ended);
        }
    }
}
