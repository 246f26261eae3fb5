//! Stage 12: the attempts. A panic is caught in place, a timeout or a stop reaches the tool's children through the token, and a failed
//! attempt is tried again only if effect and error allow it.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::{FutureExt as _, poll};
use toolcrib_core::{
    ApprovalRequest, CallCtx, Effect, ErrorType, EventKind, Handler, Nested, Nesting, ToolError,
    ToolOutput, defaults,
};

use super::shape;
use crate::flight::{InFlight, Passed, Step, Stop, fail};
use crate::nest::{self, Offspring};

/// Characters of a panic's own words that are passed on.
const PANIC_CHARS: usize = 200;

pub(crate) async fn run(flight: &mut InFlight) -> Step {
    let tool = Arc::clone(flight.tool()?);
    let Some(handler) = tool.entry.handler() else {
        return fail(ErrorType::ToolNotAvailable, "This tool is not run here.");
    };
    let effect = flight.assessed()?.effect;
    let attempts = if effect.is_repeatable() { tool.spec().attempts.max(1) } else { 1 };
    loop {
        flight.attempts += 1;
        flight.tell(EventKind::BeforeTool, |_| ());
        crate::failpoint::hit("spawn");
        // The stage begins with the first attempt; the others come after a wait.
        let first = flight.attempts == 1;
        let begun = if first { flight.last_stamp() } else { Instant::now() };
        flight.begun = Some(begun);
        let time = time_of(flight, tool.timeout);
        let result = match handler.nesting() {
            Some(nesting) => nested(flight, nesting, begun, time, effect).await?,
            None => attempt(flight, &**handler, begun, time, effect).await,
        };
        flight.ran_since(begun);
        let error = match result {
            Ok(output) => {
                flight.output = Some(output);
                return Ok(after_retries(flight.attempts));
            }
            Err(error) => shape::error(flight, error),
        };
        if error.error_type == ErrorType::Timeout {
            flight.tell(EventKind::Timeout, |event| event.error = Some(error.message.clone()));
        }
        if flight.attempts >= attempts || !error.is_transient() || !wait(flight, &error).await {
            return Err(Stop::Fail(error));
        }
        // What the failed attempt started ends with it; the next one has a token of its own.
        let next = flight.scope.cancel_token();
        if let Some(seat) = &flight.seat {
            seat.renew(&next);
        }
        std::mem::replace(&mut flight.cancel, next).cancel();
    }
}

/// The tool's time, or what is left of the run's.
fn time_of(flight: &InFlight, timeout: Duration) -> Duration {
    let left = flight.scope.run.as_ref().and_then(|run| run.budget.time_left());
    let turn = flight.scope.inside.as_ref().map(|inside| inside.within.limit);
    [left, turn].into_iter().flatten().fold(timeout, Duration::min)
}

fn after_retries(attempts: u32) -> Passed {
    if attempts == 1 { Passed::PLAIN } else { Passed::noting(format!("attempt {attempts}")) }
}

async fn attempt(
    flight: &InFlight,
    handler: &dyn Handler,
    begun: Instant,
    timeout: Duration,
    effect: Effect,
) -> Result<ToolOutput, ToolError> {
    let ctx = context(flight, begun, timeout);
    let call = AssertUnwindSafe(async { handler.call(&ctx, &flight.args).await }).catch_unwind();
    let mut call = std::pin::pin!(call);
    if flight.cancel.is_cancelled() {
        return Err(ToolError::new(ErrorType::Cancelled, "The call was stopped before it ran."));
    }
    // Many tools are done at once; only the others need a timer.
    let ended = match poll!(call.as_mut()) {
        Poll::Ready(ended) => Ok(ended),
        Poll::Pending => tokio::select! {
            // In this order: a tool that is done is done, whatever else happened meanwhile.
            biased;
            ended = tokio::time::timeout(timeout, call) => ended,
            () = flight.cancel.cancelled() => return Err(stopped(effect)),
        },
    };
    match ended {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => Err(crashed(flight, &*panic)),
        Err(_) => Err(timed_out(timeout, effect)),
    }
}

fn context(flight: &InFlight, begun: Instant, timeout: Duration) -> CallCtx {
    CallCtx {
        call: flight.call,
        run: flight.scope.run.as_ref().map(|run| run.id),
        context: Arc::clone(&flight.scope.context),
        attempt: flight.attempts,
        cancel: flight.cancel.clone(),
        deadline: begun.checked_add(timeout).unwrap_or(begun),
        streams: Arc::clone(&flight.engine().streams) as _,
    }
}

/// One attempt of a call that makes calls. Waiting for people about these counts against no time of its own; where one of them waits beyond this
/// process, so does it.
async fn nested(
    flight: &mut InFlight,
    nesting: &dyn Nesting,
    begun: Instant,
    timeout: Duration,
    effect: Effect,
) -> Result<Result<ToolOutput, ToolError>, Stop> {
    // Whoever decides about one of its calls waits until it has ended or waits itself. Where that is who runs it, the place is theirs.
    let place = flight.engine().nests.place(flight.call);
    let _alone = place.try_lock().ok();
    let ctx = context(flight, begun, timeout);
    let children = Offspring::of(flight);
    let ended = {
        let call = AssertUnwindSafe(async { nesting.call(&ctx, &flight.args, &children).await });
        let mut call = std::pin::pin!(call.catch_unwind());
        tokio::select! {
            biased;
            ended = nest::within_time(call.as_mut(), timeout, &children) => ended,
            () = flight.cancel.cancelled() => {
                flight.inner_time = children.busy();
                return Ok(Err(stopped(effect)));
            }
        }
    };
    flight.inner_time = children.busy();
    match ended {
        // Whoever asked for this call knows it, and not those that it makes.
        Some(Ok(Ok(Nested::Waits(request)))) => {
            Err(Stop::Suspend(Box::new(ApprovalRequest { call: flight.call, ..*request })))
        }
        Some(Ok(Ok(Nested::Done(output)))) => Ok(Ok(output)),
        Some(Ok(Err(error))) => Ok(Err(error)),
        Some(Err(panic)) => Ok(Err(crashed(flight, &*panic))),
        None => Ok(Err(timed_out(timeout, effect))),
    }
}

/// Seed 001's text, and for a tool that changes something the warning that it may have done so.
fn timed_out(timeout: Duration, effect: Effect) -> ToolError {
    let seconds = timeout.as_secs_f64();
    let text = format!("Tool execution timed out after {seconds}s");
    ToolError::new(ErrorType::Timeout, with_doubt(text, effect))
}

fn stopped(effect: Effect) -> ToolError {
    ToolError::new(ErrorType::Cancelled, with_doubt("The call was stopped".to_owned(), effect))
}

fn with_doubt(text: String, effect: Effect) -> String {
    if effect.is_repeatable() {
        return text;
    }
    format!("{text}. Whether it took effect is unknown: check before you call it again.")
}

fn crashed(flight: &InFlight, panic: &(dyn Any + Send)) -> ToolError {
    let words = panic
        .downcast_ref::<&str>()
        .map(|words| (*words).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    let words: String = flight.engine().secrets.mask(words).chars().take(PANIC_CHARS).collect();
    let text = format!(
        "Tool {} crashed: {words}. This is a fault of the tool, not of the arguments.",
        flight.asked
    );
    ToolError::new(ErrorType::Crashed, text)
}

/// Waits `1.5^n` seconds and a little (SPEC 3.2) before attempt n + 1; `false` = stopped meanwhile, or tools were switched off.
async fn wait(flight: &InFlight, error: &ToolError) -> bool {
    flight.tell(EventKind::Retry, |event| {
        event.error_type = Some(error.error_type);
        event.error = Some(error.message.clone());
    });
    let seconds = defaults::RETRY_BASE.powf(f64::from(flight.attempts))
        + fastrand::f64() * defaults::RETRY_JITTER;
    tokio::select! {
        () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => {}
        () = flight.cancel.cancelled() => return false,
    }
    flight.engine().tools_enabled()
}
