//! Stage 12: runs the attempts. Panics are caught here, a timeout or a stop reaches the tool's
//! children through the token, and a failed attempt is retried only if effect and error allow it.

use std::any::Any;
use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::{FutureExt as _, poll};
use tokio::time::Instant as Deadline;
use toolcrib_core::tool::Streams;
use toolcrib_core::{
    ApprovalRequest, CallCtx, Effect, ErrorType, EventKind, ParentHandler, ParentOutcome,
    PathDenials, ToolError, ToolOutput, effective_channel,
};

use super::phase::{Finished, Plan, Started};
use super::retry::wait_for_retry;
use super::step::{StageExit, StagePass, StageResult};
use crate::artifact_streams::ProgressStreams;
use crate::call_state::CallState;
use crate::child_calls::{self, ChildCalls};
use crate::rules::RuleQuery;
use crate::safe_text;

/// Maximum characters of a panic message that are passed on.
const PANIC_CHARS: usize = 200;

pub(crate) async fn run(call: &mut CallState, Started(plan): Started) -> StageResult<Finished> {
    let effect = plan.assessment.effect;
    let attempts = if effect.is_repeatable() { plan.tool().attempts.max(1) } else { 1 };
    // The attempts share one deadline: an unreachable server costs the timeout once.
    let limit = time_limit(call, plan.tool().timeout);
    let mut deadline = None;
    loop {
        call.attempts.count += 1;
        call.emit(EventKind::BeforeTool, |_| ());
        crate::failpoint::hit("spawn");
        // The stage starts with the first attempt; later attempts follow a wait.
        let first = call.attempts.count == 1;
        let begun = if first { call.stage_started() } else { Instant::now() };
        call.attempts.started = Some(begun);
        let deadline = *deadline.get_or_insert_with(|| deadline_in(limit));
        let result = match plan.request.handler.parent_handler() {
            Some(handler) => run_parent(call, &plan, handler, (deadline, limit)).await?,
            None => attempt(call, &plan, (deadline, limit)).await,
        };
        call.add_run_time(begun);
        let error = match result {
            Ok(output) => {
                if output.is_error && output.error_type == Some(ErrorType::Timeout) {
                    call.emit(EventKind::Timeout, |_| ());
                }
                let note = attempt_note(call.attempts.count);
                let finished = Finished { tool: Arc::clone(plan.tool()), output };
                return Ok(StagePass::with_note(finished, note));
            }
            Err(error) => safe_text::sanitize_error(&call.engine().secrets, error),
        };
        if error.error_type == ErrorType::Timeout {
            call.emit(EventKind::Timeout, |event| event.error = Some(error.message.clone()));
        }
        let may_retry = call.attempts.count < attempts && error.is_transient();
        if !may_retry || !wait_for_retry(call, &error, plan.tool().backoff, deadline).await {
            return Err(StageExit::Fail(error));
        }
        // Work that the failed attempt started ends with it; the next attempt has a new token.
        call.renew_token();
    }
}

/// Returns the deadline for this limit; a limit beyond the range of the clock expires at once.
fn deadline_in(limit: Duration) -> Deadline {
    let now = Deadline::now();
    now.checked_add(limit).unwrap_or(now)
}

/// Returns the tool's timeout, or the remaining time of the run if that is shorter.
fn time_limit(call: &CallState, timeout: Duration) -> Duration {
    let left = call.scope.run.as_ref().and_then(|run| run.budget.time_left());
    let turn = call.scope.parent.as_ref().map(|parent| parent.within.limit);
    [left, turn].into_iter().flatten().fold(timeout, Duration::min)
}

fn attempt_note(attempts: u32) -> Cow<'static, str> {
    if attempts == 1 { Cow::Borrowed("") } else { Cow::Owned(format!("attempt {attempts}")) }
}

async fn attempt(
    call: &CallState,
    plan: &Plan,
    (deadline, limit): (Deadline, Duration),
) -> Result<ToolOutput, ToolError> {
    let (handler, effect) = (&plan.request.handler, plan.assessment.effect);
    let ctx = context(call, plan, deadline);
    let work = AssertUnwindSafe(async { handler.call(&ctx, plan.args()).await }).catch_unwind();
    let mut work = std::pin::pin!(work);
    if call.cancel.is_cancelled() {
        return Err(ToolError::new(ErrorType::Cancelled, "The call was stopped before it ran."));
    }
    // Many tools complete at once; only the others need a timer.
    let ended = match poll!(work.as_mut()) {
        Poll::Ready(ended) => Ok(ended),
        Poll::Pending => tokio::select! {
            // The order matters: a tool that has ended counts as ended, even if it was cancelled
            // meanwhile.
            biased;
            ended = tokio::time::timeout_at(deadline, work) => ended,
            () = call.cancel.cancelled() => return Err(stopped(effect)),
        },
    };
    match ended {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => Err(crashed(call, &*panic)),
        Err(_) => Err(timed_out(limit, effect)),
    }
}

/// Returns the streams for long results. Progress is reported only if the batch has a subscriber.
fn streams(call: &CallState) -> Arc<dyn Streams> {
    let streams = Arc::clone(&call.engine().streams);
    match &call.scope.subscriber {
        None => streams,
        Some(watch) => {
            Arc::new(ProgressStreams { streams, watch: Arc::clone(watch), last: Mutex::default() })
        }
    }
}

fn context(call: &CallState, plan: &Plan, deadline: Deadline) -> CallCtx {
    CallCtx {
        call: call.id,
        run: call.scope.run.as_ref().map(|run| run.id),
        context: Arc::clone(&call.scope.context),
        view: Arc::clone(&call.scope.view),
        attempt: call.attempts.count,
        cancel: call.cancel.clone(),
        deadline: deadline.into_std(),
        streams: streams(call),
        path_denials: path_denials(call, plan),
        approved_hosts: plan.assessed_hosts().map(str::to_owned).collect(),
    }
}

/// Returns the paths that the current rules deny to a call, including rules added since the call
/// was received.
fn path_denials(call: &CallState, plan: &Plan) -> Arc<dyn PathDenials> {
    let policy = call.engine().registry.policy();
    let context = &call.scope.context;
    policy.rules.denied_paths(&RuleQuery {
        operation: call.operation(),
        tool: plan.tool().spec().name.as_str(),
        args: plan.args(),
        agent: &context.agent,
        channel: effective_channel(context, call.scope.origin),
        workspace: &context.workspace,
        now_ms: call.engine().clock.now_ms(),
    })
}

/// Runs one attempt of a call that makes child calls. Time in which people decide about child calls
/// does not count; if a child is suspended beyond this process, the parent is too.
async fn run_parent(
    call: &mut CallState,
    plan: &Plan,
    handler: &dyn ParentHandler,
    (deadline, limit): (Deadline, Duration),
) -> Result<Result<ToolOutput, ToolError>, StageExit> {
    let effect = plan.assessment.effect;
    // A decision about one of its calls waits until the parent has ended or is suspended. If that
    // decision runs the parent now, it already holds the lock.
    let lock = call.engine().parent_locks.lock_for(call.id);
    let _alone = lock.try_lock().ok();
    let ctx = context(call, plan, deadline);
    let left = deadline.saturating_duration_since(Deadline::now());
    let children = ChildCalls::of(call);
    let ended = {
        let work = AssertUnwindSafe(async { handler.call(&ctx, plan.args(), &children).await });
        let mut work = std::pin::pin!(work.catch_unwind());
        tokio::select! {
            biased;
            ended = child_calls::with_timeout(work.as_mut(), left, &children) => ended,
            () = call.cancel.cancelled() => {
                call.attempts.child_time = children.busy();
                call.attempts.unapproved_children = children.unapproved();
                return Ok(Err(stopped(effect)));
            }
        }
    };
    call.attempts.child_time = children.busy();
    call.attempts.unapproved_children = children.unapproved();
    match ended {
        // The caller knows this call, but not its child calls.
        Some(Ok(Ok(ParentOutcome::Suspended(request)))) => {
            Err(StageExit::Suspend(Box::new(ApprovalRequest { call: call.id, ..*request })))
        }
        Some(Ok(Ok(ParentOutcome::Done(output)))) => Ok(Ok(output)),
        Some(Ok(Err(error))) => Ok(Err(error)),
        Some(Err(panic)) => Ok(Err(crashed(call, &*panic))),
        None => Ok(Err(timed_out(limit, effect))),
    }
}

/// Creates the timeout error; for a tool that changes something it warns that the change may have
/// happened.
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

fn crashed(call: &CallState, panic: &(dyn Any + Send)) -> ToolError {
    let words = panic
        .downcast_ref::<&str>()
        .map(|words| (*words).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    let words: String = call.engine().secrets.mask(words).chars().take(PANIC_CHARS).collect();
    let text = format!(
        "Tool {} crashed: {words}. This is a fault of the tool, not of the arguments.",
        call.asked
    );
    ToolError::new(ErrorType::Crashed, text)
}
