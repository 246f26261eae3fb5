//! A batch: stages 0 to 8 in the order of the calls, the rest side by side, the answers in order again.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::{FutureExt as _, poll};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use toolcrib_core::{
    Answer, Batch, Call, ErrorType, Outcome, OutcomeKind, RawArgs, Report, StoreError, ToolError,
    ViewRequest, Watch,
};

use crate::again;
use crate::engine::Inner;
use crate::flight::{InFlight, Scope, Stop};
use crate::nest::Inside;
use crate::pipeline;
use crate::run::{Run, not_open};
use crate::stage::approve::Resumed;
use crate::stage::repeat::{self, BatchVerdict};

pub(crate) async fn run(
    engine: Arc<Inner>,
    batch: Batch,
    watch: Option<Arc<dyn Watch>>,
) -> Vec<Answer> {
    run_inside(engine, batch, watch, None).await
}

/// The same with calls that a running call makes.
pub(crate) async fn run_inside(
    engine: Arc<Inner>,
    batch: Batch,
    watch: Option<Arc<dyn Watch>>,
    inside: Option<Arc<Inside>>,
) -> Vec<Answer> {
    if let Err(error) = engine.claim().await {
        let answers = unclaimed(batch, &error);
        if let Some(watch) = watch {
            answers.iter().for_each(|answer| watch.answered(answer));
        }
        return answers;
    }
    if batch.again {
        return again::run(engine, batch, watch, inside).await;
    }
    run_fresh(engine, batch, watch, inside).await
}

/// Runs calls of which is known that none has its answer.
pub(crate) async fn run_fresh(
    engine: Arc<Inner>,
    batch: Batch,
    watch: Option<Arc<dyn Watch>>,
    inside: Option<Arc<Inside>>,
) -> Vec<Answer> {
    let run = batch.run.and_then(|id| engine.runs.get(id));
    let closed = batch.run.filter(|_| run.is_none()).map(not_open);
    let (again, calls) = (batch.again, batch.calls);
    let of = Of { origin: batch.origin, context: batch.context, view: batch.view, run };
    let scope = scope(&engine, of, calls.len(), More { watch, again, inside });
    let mut flights: Vec<(Box<InFlight>, Result<(), Stop>)> = calls
        .into_iter()
        .map(|call| {
            let mut flight = Box::new(InFlight::new(Arc::clone(&scope), call, None));
            let end = match &closed {
                Some(error) => Err(Stop::Fail(error.clone())),
                None => pipeline::read(&mut flight),
            };
            (flight, end)
        })
        .collect();
    let verdict = repeat::judge(&scope, flights.iter().map(|(flight, _)| &**flight));
    for (flight, end) in &mut flights {
        if end.is_ok() {
            flight.restamp();
            *end = pipeline::judge(flight, &verdict).await;
        } else if verdict.repeats()
            && let Err(stop) = pipeline::refuse_repeated(flight, &verdict)
        {
            *end = Err(stop);
        }
    }
    if flights.len() == 1
        && let Some((flight, end)) = flights.pop()
    {
        return vec![complete(flight, end).await];
    }
    side_by_side(flights).await
}

/// Goes on with a call that somebody decided about: it enters again at stage 0.
pub(crate) async fn resume(engine: Arc<Inner>, batch: Batch, resumed: Resumed) -> Option<Answer> {
    if let Err(error) = engine.claim().await {
        return unclaimed(batch, &error).pop();
    }
    let run = batch.run.and_then(|id| engine.runs.get(id));
    let closed = batch.run.filter(|_| run.is_none()).map(not_open);
    let call = batch.calls.into_iter().next()?;
    let inside =
        batch.within.map(|within| Arc::new(Inside { within: *within, cancel: None, slots: None }));
    let of = Of { origin: batch.origin, context: batch.context, view: batch.view, run };
    let scope = scope(&engine, of, 1, More { watch: None, again: true, inside });
    if let Some(error) = closed {
        // Outside its run it would run without budget, and nobody could stop it.
        let flight = Box::new(InFlight::new(scope, call, None));
        return Some(pipeline::finish(flight, Err(Stop::Fail(error))).await);
    }
    Some(enter_again(scope, call, Box::new(resumed)).await)
}

async fn enter_again(scope: Arc<Scope>, call: Call, resumed: Box<Resumed>) -> Answer {
    let mut flight = Box::new(InFlight::new(scope, call, Some(resumed)));
    let mut end = pipeline::read(&mut flight);
    if end.is_ok() {
        end = pipeline::judge(&mut flight, &BatchVerdict::default()).await;
    }
    if end.is_ok() {
        end = carry_out(&mut flight).await;
    }
    pipeline::finish(flight, end).await
}

/// Whose calls they are.
pub(crate) struct Of {
    pub(crate) origin: toolcrib_core::Origin,
    pub(crate) context: Arc<toolcrib_core::Context>,
    pub(crate) view: Arc<ViewRequest>,
    pub(crate) run: Option<Arc<Run>>,
}

/// What else is known of them.
#[derive(Default)]
pub(crate) struct More {
    pub(crate) watch: Option<Arc<dyn Watch>>,
    pub(crate) again: bool,
    pub(crate) inside: Option<Arc<Inside>>,
}

pub(crate) fn scope(engine: &Arc<Inner>, of: Of, calls: usize, more: More) -> Arc<Scope> {
    let Of { origin, context, view, run } = of;
    let More { watch, again, inside } = more;
    let seen = engine.registry.seen(&view);
    let at_once = seen.policy.settings.batch_concurrency.max(1);
    let slots = match &inside {
        Some(inside) => inside.slots.clone(),
        None => (calls > 1).then(|| Arc::new(Semaphore::new(at_once))),
    };
    let context = without_secrets(engine, context);
    let (engine, epoch) = (Arc::clone(engine), engine.epoch());
    Arc::new(Scope { engine, epoch, origin, context, view, seen, run, slots, again, inside, watch })
}

/// What a conversation is about is the person's own words, and stands in every record.
fn without_secrets(
    engine: &Inner,
    context: Arc<toolcrib_core::Context>,
) -> Arc<toolcrib_core::Context> {
    if engine.secrets.is_empty() || context.topic.is_empty() {
        return context;
    }
    let topic = engine.secrets.mask(context.topic.clone());
    Arc::new(toolcrib_core::Context { topic, ..toolcrib_core::Context::clone(&context) })
}

/// Stages 9 to 14 of a call that came through the first nine, or stage 14 of one that did not.
async fn complete(flight: Box<InFlight>, end: Result<(), Stop>) -> Answer {
    let watch = flight.scope.watch.clone();
    let answer = go_on(flight, end).await;
    if let Some(watch) = watch {
        watch.answered(&answer);
    }
    answer
}

async fn go_on(mut flight: Box<InFlight>, end: Result<(), Stop>) -> Answer {
    if end.is_err() {
        return pipeline::finish(flight, end).await;
    }
    flight.restamp();
    match carry_out(&mut flight).await {
        Err(Stop::Again(resumed)) => {
            // The person's arguments replace the model's: the same call enters again at stage 0.
            flight.answered = true;
            let real = flight.shown_args().clone();
            let args = match resumed.args(flight.engine().sealing(), real) {
                Ok(args) => RawArgs::Value(args),
                // Sealed here a moment ago; a call that says so is better than one that runs on a guess.
                Err(error) => {
                    RawArgs::Broken(format!("The changed arguments cannot be opened ({error})."))
                }
            };
            let call = Call { id: flight.call, name: flight.asked.clone(), args };
            let scope = Arc::clone(&flight.scope);
            // It keeps its place: nobody else goes on with the same decision meanwhile.
            let _place = flight.place.take();
            drop(flight);
            Box::pin(enter_again(scope, call, resumed)).await
        }
        end => pipeline::finish(flight, end).await,
    }
}

/// Tools are caught where they run; what breaks here is ours, and even that must not take the caller with it.
async fn carry_out(flight: &mut InFlight) -> Result<(), Stop> {
    let caught = AssertUnwindSafe(pipeline::carry_out(flight)).catch_unwind().await;
    caught.unwrap_or_else(|_| {
        let text = "The call was interrupted by a fault of the engine. Whether it took effect is unknown: check before you call it again.";
        Err(Stop::Fail(ToolError::new(ErrorType::UnknownOutcome, text)))
    })
}

async fn side_by_side(flights: Vec<(Box<InFlight>, Result<(), Stop>)>) -> Vec<Answer> {
    let mut tasks = JoinSet::new();
    let mut answers: Vec<Option<Answer>> = Vec::new();
    let mut calls = Vec::new();
    for (index, (mut flight, end)) in flights.into_iter().enumerate() {
        calls.push(Call { id: flight.call, ..Call::with_text(flight.asked.clone(), "") });
        answers.push(None);
        if end.is_ok() && flight.asks.is_empty() {
            queue_up(&mut flight).await;
        }
        tasks.spawn(async move { (index, complete(flight, end).await) });
    }
    while let Some(done) = tasks.join_next().await {
        // A task that broke has settled its call by dropping it; it gets its answer below.
        if let Ok((index, answer)) = done
            && let Some(slot) = answers.get_mut(index)
        {
            *slot = Some(answer);
        }
    }
    answers
        .into_iter()
        .zip(calls)
        .map(|(answer, call)| {
            answer.unwrap_or_else(|| {
                let text = "The call was interrupted inside the engine. Whether it took effect is unknown: check before you call it again.";
                refused(call, ToolError::new(ErrorType::UnknownOutcome, text))
            })
        })
        .collect()
}

/// Takes a place in the queues of the concurrency keys now, so that calls of one batch hold it in the order of the batch.
async fn queue_up(flight: &mut InFlight) {
    let keys = flight.assessment.as_mut().map(|a| std::mem::take(&mut a.concurrency));
    let Some(keys) = keys.filter(|keys| !keys.is_empty()) else { return };
    let engine = Arc::clone(flight.engine());
    let mut place = async move { engine.locks.acquire_all(keys).await }.boxed();
    match poll!(place.as_mut()) {
        std::task::Poll::Ready(held) => flight.held = Some(held),
        std::task::Poll::Pending => flight.queued = Some(Mutex::new(place)),
    }
}

/// Answers for calls that could not even be received, because the store takes none.
fn unclaimed(batch: Batch, error: &StoreError) -> Vec<Answer> {
    let text = format!("The call could not be recorded ({error}), so it was not run.");
    let refuse = |call| refused(call, ToolError::new(ErrorType::StoreFailed, text.clone()));
    batch.calls.into_iter().map(refuse).collect()
}

/// The answer for a call that never entered the pipeline, or never came out of it.
pub(crate) fn refused(call: Call, error: ToolError) -> Answer {
    let kind: OutcomeKind = error.error_type.outcome();
    Answer::Done(Box::new(Outcome {
        call: call.id,
        asked: call.name,
        tool: None,
        kind,
        result: Err(error),
        notes: Vec::new(),
        report: Report::default(),
    }))
}
