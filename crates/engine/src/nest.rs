//! Calls that a running call makes: each passes the door as any other, inside its parent. Where one of them waits for a person the parent is put
//! aside, and whoever decides goes on with both.

mod question;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use toolcrib_core::invoke::DecideError;
use toolcrib_core::store::Waiting;
use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, ArtifactRef, Batch, BoxFuture, Call, CallId,
    CancellationToken, Children, Context, DecisionRecord, ErrorType, Origin, Outcome, RawArgs,
    ToolError, Turn, View, Watch, Within, channel,
};

use crate::again;
use crate::batch;
use crate::deciding::failed;
use crate::engine::Inner;
use crate::flight::InFlight;
use crate::references;
use crate::stage::approve;

/// How often a call is looked at that runs in another process.
const LOOK: Duration = Duration::from_millis(50);

/// Where a call stands that another one makes.
pub(crate) struct Inside {
    pub(crate) within: Within,
    /// Ends with the parent; `None` = the parent does not run here now.
    pub(crate) cancel: Option<CancellationToken>,
    /// Calls of the parent that may run at once.
    pub(crate) slots: Option<Arc<Semaphore>>,
}

/// Parents that are at work here, so that each is in one pipeline of this process at most.
#[derive(Default)]
pub(crate) struct Nests {
    places: Mutex<HashMap<CallId, Weak<tokio::sync::Mutex<()>>>>,
}

impl Nests {
    pub(crate) fn place(&self, parent: CallId) -> Arc<tokio::sync::Mutex<()>> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get(&parent).and_then(Weak::upgrade) {
            return place;
        }
        places.retain(|_, place| place.strong_count() > 0);
        let place = Arc::default();
        places.insert(parent, Arc::downgrade(&place));
        place
    }
}

/// Time in which at least one of several things went on.
#[derive(Default)]
struct Stopwatch(Mutex<Lap>);

#[derive(Default)]
struct Lap {
    open: u32,
    since: Option<Instant>,
    total: Duration,
}

impl Stopwatch {
    fn with<T>(&self, act: impl FnOnce(&mut Lap) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn begin(&self) {
        self.with(|lap| {
            lap.open += 1;
            lap.since.get_or_insert_with(Instant::now);
        });
    }

    fn end(&self) {
        self.with(|lap| {
            lap.open = lap.open.saturating_sub(1);
            if lap.open == 0
                && let Some(since) = lap.since.take()
            {
                lap.total += since.elapsed();
            }
        });
    }

    fn total(&self) -> Duration {
        self.with(|lap| lap.total + lap.since.map_or(Duration::ZERO, |since| since.elapsed()))
    }
}

/// Ends a lap when dropped.
struct Running<'a>(&'a Stopwatch);

impl<'a> Running<'a> {
    fn of(watch: &'a Stopwatch) -> Self {
        watch.begin();
        Self(watch)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Knows when one call waits for a person, and passes that on.
struct Waits {
    watch: Arc<Stopwatch>,
    is_waiting: AtomicBool,
    /// Who looks on at the parent: for them the parent waits.
    next: Option<Arc<dyn Watch>>,
    parent: CallId,
}

impl Waits {
    fn is_over(&self) {
        if self.is_waiting.swap(false, Ordering::AcqRel) {
            self.watch.end();
        }
    }
}

impl Watch for Waits {
    fn asked(&self, request: &ApprovalRequest) {
        if !self.is_waiting.swap(true, Ordering::AcqRel) {
            self.watch.begin();
        }
        if let Some(next) = &self.next {
            next.asked(&ApprovalRequest { call: self.parent, ..request.clone() });
        }
    }

    fn decided(&self, request: &ApprovalRequest, record: &DecisionRecord) {
        self.is_over();
        if let Some(next) = &self.next {
            next.decided(&ApprovalRequest { call: self.parent, ..request.clone() }, record);
        }
    }

    fn answered(&self, _: &Answer) {
        self.is_over();
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.is_over();
    }
}

/// The calls of one running call.
pub(crate) struct Offspring {
    engine: Arc<Inner>,
    parent: Arc<Batch>,
    context: Arc<Context>,
    again: bool,
    cancel: CancellationToken,
    slots: Arc<Semaphore>,
    waits: Arc<Stopwatch>,
    busy: Stopwatch,
    questions: AtomicU32,
    watch: Option<Arc<dyn Watch>>,
}

impl Offspring {
    pub(crate) fn of(flight: &InFlight) -> Self {
        let scope = &flight.scope;
        let call = Call {
            id: flight.call,
            name: flight.asked.clone(),
            args: RawArgs::Value(flight.shown_args().clone()),
        };
        let parent = Batch {
            run: scope.run.as_ref().map(|run| run.id),
            context: Arc::clone(&scope.context),
            view: Arc::clone(&scope.view),
            again: true,
            within: scope.inside.as_ref().map(|inside| Box::new(inside.within.clone())),
            ..Batch::new(scope.origin, vec![call])
        };
        // A chain has its parent's channel (DESIGN 9, Channels).
        let mut context = Arc::clone(&scope.context);
        if context.channel.is_empty() {
            let channel = channel(&context, scope.origin).to_owned();
            context = Arc::new(Context { channel, ..Context::clone(&context) });
        }
        let at_once = flight.policy().settings.batch_concurrency.max(1);
        Self {
            engine: Arc::clone(flight.engine()),
            parent: Arc::new(parent),
            context,
            again: scope.again,
            cancel: flight.cancel.clone(),
            slots: Arc::new(Semaphore::new(at_once)),
            waits: Arc::default(),
            busy: Stopwatch::default(),
            questions: AtomicU32::new(0),
            watch: scope.watch.clone(),
        }
    }

    /// Time in which calls were at work or waited.
    pub(crate) fn busy(&self) -> Duration {
        self.busy.total()
    }

    /// Runs a call; `again` = it may have run before.
    async fn run(&self, call: Call, turn: Turn, again: bool) -> Answer {
        let _busy = Running::of(&self.busy);
        if again && !self.is_free(call.id).await {
            let text = "The call was stopped while it ran elsewhere. Whether it took effect is unknown: check before you call it again.";
            return batch::refused(call, ToolError::new(ErrorType::UnknownOutcome, text));
        }
        let Turn { limit, number, most } = turn;
        let within = Within { parent: Arc::clone(&self.parent), limit, number, most };
        let inside = Inside {
            within: within.clone(),
            cancel: Some(self.cancel.clone()),
            slots: Some(Arc::clone(&self.slots)),
        };
        let watch = Waits {
            watch: Arc::clone(&self.waits),
            is_waiting: AtomicBool::new(false),
            next: self.watch.clone(),
            parent: self.parent.calls.first().map_or(call.id, |parent| parent.id),
        };
        let batch = Batch {
            run: self.parent.run,
            context: Arc::clone(&self.context),
            view: Arc::clone(&self.parent.view),
            again,
            ..Batch::new(Origin::Chain, vec![call.clone()])
        };
        let watch = Some(Arc::new(watch) as Arc<dyn Watch>);
        let engine = Arc::clone(&self.engine);
        let inside = Some(Arc::new(inside));
        match batch::run_inside(engine, batch.clone(), watch, inside).await.pop() {
            Some(Answer::Done(outcome)) => self.asked(*outcome, batch, within).await,
            Some(waits) => waits,
            None => batch::refused(call, ToolError::execution("no answer")),
        }
    }

    /// The same outcome, unless it is a question to a person: then what that person answered.
    async fn asked(&self, outcome: Outcome, batch: Batch, within: Within) -> Answer {
        let Some(question) = question::of(&outcome) else {
            return Answer::Done(Box::new(outcome));
        };
        if self.questions.fetch_add(1, Ordering::Relaxed) >= question::MOST {
            let text = format!(
                "A script asks at most {} questions; this one was not asked. Go on with what you know.",
                question::MOST
            );
            return question::failed(outcome, ToolError::execution(text));
        }
        question::answer(&self.engine, outcome, question, batch, within).await
    }

    /// A question as those see it who look on: for them the parent waits.
    fn shown(&self, request: &ApprovalRequest) -> ApprovalRequest {
        let parent = self.parent.calls.first().map_or(request.call, |parent| parent.id);
        ApprovalRequest { call: parent, ..request.clone() }
    }

    /// Waits for a decision, at most so long; it counts as waiting for people.
    async fn decision(
        &self,
        request: &ApprovalRequest,
        at_most: Duration,
    ) -> Option<DecisionRecord> {
        let _waits = Running::of(&self.waits);
        // Otherwise whoever asked about the call has told it.
        let is_untold = self.again || request.question.is_some();
        if let Some(watch) = self.watch.as_ref().filter(|_| is_untold) {
            watch.asked(&self.shown(request));
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
                () = tokio::time::sleep(left.min(LOOK)) => {}
            }
        }
    }

    /// Waits until nobody else runs this call; `false` = this one was stopped meanwhile.
    async fn is_free(&self, call: CallId) -> bool {
        loop {
            match self.engine.calls.call(call).await {
                Ok(Some(stored)) if stored.row.end.is_none() && stored.is_worked_on => {}
                _ => return true,
            }
            tokio::select! {
                () = self.cancel.cancelled() => return false,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }
}

/// Ends a question that nobody waits for any more; if somebody was faster, that is their decision. `None` = it could not be stored.
async fn closed(engine: &Inner, question: ApprovalId) -> Option<DecisionRecord> {
    let over = DecisionRecord::expiry(engine.clock.now_ms());
    match engine.approvals.decide(question, over.clone()).await.ok()? {
        Ok(()) => Some(over),
        Err(first) => Some(first),
    }
}

/// A question that a script waits for in place. Dropped, it is closed, and its call has its outcome: nobody is left to go on with it.
struct OpenQuestion<'a> {
    engine: &'a Arc<Inner>,
    id: Option<ApprovalId>,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id, tokio::runtime::Handle::try_current()) else {
            return;
        };
        let engine = Arc::clone(self.engine);
        runtime.spawn(async move {
            if closed(&engine, id).await.is_some_and(|record| record.is_expiry()) {
                // What cannot be written now is written by whoever asks for the call again.
                let _ = approve::go_on(engine, id, true).await;
            }
        });
    }
}

impl Children for Offspring {
    fn view(&self) -> Arc<View> {
        Arc::clone(&self.engine.registry.seen(&self.parent.view).view)
    }

    fn is_again(&self) -> bool {
        self.again
    }

    fn waited(&self) -> Duration {
        self.waits.total()
    }

    fn stored(&self, artifact: &ArtifactRef) -> Result<String, ToolError> {
        references::text(&artifact.0, &*self.engine.artifacts, &self.context.owner)
    }

    fn invoke(&self, call: Call, turn: Turn) -> BoxFuture<'_, Answer> {
        Box::pin(self.run(call, turn, self.again))
    }

    fn decided<'a>(
        &'a self,
        call: Call,
        turn: Turn,
        request: &'a ApprovalRequest,
        at_most: Duration,
    ) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async move {
            let mut open = OpenQuestion { engine: &self.engine, id: Some(request.id) };
            let record = match self.decision(request, at_most).await {
                Some(record) => record,
                None => closed(&self.engine, request.id).await?,
            };
            if let Some(watch) = &self.watch {
                watch.decided(&self.shown(request), &record);
            }
            let answer = self.run(call, turn, true).await;
            open.id = None;
            Some(answer).filter(|_| !record.is_expiry())
        })
    }
}

/// Waits for a running call within its time; people are waited for beside that. `None` = its time is over.
pub(crate) async fn within_time<T>(
    mut running: Pin<&mut (impl Future<Output = T> + Send)>,
    time: Duration,
    children: &Offspring,
) -> Option<T> {
    let begun = Instant::now();
    loop {
        let left = (time + children.waited()).saturating_sub(begun.elapsed());
        if left.is_zero() {
            return None;
        }
        if let Ok(ended) = tokio::time::timeout(left, running.as_mut()).await {
            return Some(ended);
        }
    }
}

/// Goes on with a call that was decided about, and then with the one that made it; what that one answers is the answer.
pub(crate) fn decided(
    engine: Arc<Inner>,
    waiting: Waiting,
    record: DecisionRecord,
) -> BoxFuture<'static, Result<Option<Answer>, DecideError>> {
    Box::pin(async move {
        let within = waiting.batch.within.as_deref();
        let parent = within.map(|within| Batch::clone(&within.parent));
        let id = parent.as_ref().and_then(|parent| parent.calls.first()).map(|call| call.id);
        let (Some(parent), Some(id)) = (parent, id) else { return Ok(None) };
        let place = engine.nests.place(id);
        let _alone = place.lock().await;
        if let Some(answer) = again::known(&engine, id).await.map_err(failed)? {
            return Ok(Some(answer));
        }
        // What becomes of it is recorded; the parent asks for it.
        approve::proceed(Arc::clone(&engine), waiting, record, true).await?;
        let parent = Batch { again: true, ..parent };
        Ok(batch::run(engine, parent, None).await.pop())
    })
}
