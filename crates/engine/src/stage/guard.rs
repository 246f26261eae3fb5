//! Stage 5: guard hooks may refuse or rewrite the call; after this stage only a person can change
//! the arguments.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::time::timeout;
use toolcrib_core::hook::GuardInput;
use toolcrib_core::{ErrorType, EventKind, Guard, GuardVerdict, defaults};

use super::decode;
use super::phase::{Guarded, Request, Unrepeated};
use super::step::{StagePass, StageResult, fail};
use crate::call_state::CallState;

pub(crate) async fn run(
    call: &mut CallState,
    Unrepeated(mut request): Unrepeated,
) -> StageResult<Guarded> {
    if call.policy().guards.is_empty() || call.resumed.is_some() {
        return Ok(StagePass::skipped(Guarded(request)));
    }
    let scope = Arc::clone(&call.scope);
    let mut rewritten = Vec::new();
    for guard in &scope.resolved_view.policy.guards {
        match ask(&**guard, call, &request).await {
            Ok(GuardVerdict::Continue) => {}
            Ok(GuardVerdict::Rewrite(args)) => {
                request.args = decode::decode_rewritten(call, &request.tool, args)?.next;
                rewritten.push(guard.name());
            }
            Ok(GuardVerdict::Deny(reason)) => return deny(call, guard.name(), &reason),
            Err(fault) => return deny(call, guard.name(), &fault),
        }
    }
    if rewritten.is_empty() {
        return Ok(StagePass::plain(Guarded(request)));
    }
    let note = format!("arguments rewritten by {}", rewritten.join(", "));
    Ok(StagePass::changed(Guarded(request), note))
}

/// Calls one guard. A late answer, an error or a panic is a fault, and a fault denies the call.
async fn ask(
    guard: &dyn Guard,
    call: &CallState,
    request: &Request,
) -> Result<GuardVerdict, String> {
    let guarded = GuardInput {
        call: call.id,
        run: call.scope.run.as_ref().map(|run| run.id),
        origin: call.scope.origin,
        context: &call.scope.context,
        tool: request.tool.spec().name.as_str(),
        args: &request.args.value,
    };
    let checked = AssertUnwindSafe(async { guard.check(&guarded).await }).catch_unwind();
    match timeout(defaults::GUARD_TIMEOUT, checked).await {
        Err(_) => Err("it did not answer in time".to_owned()),
        Ok(Err(_)) => Err("it broke".to_owned()),
        Ok(Ok(verdict)) => verdict,
    }
}

fn deny(call: &CallState, guard: &str, reason: &str) -> StageResult<Guarded> {
    let text = format!(
        "The call of {} was denied by the guard {guard}: {reason}. Do not retry it.",
        call.asked
    );
    call.emit(EventKind::PermissionDenied, |event| event.error = Some(text.clone()));
    fail(ErrorType::PolicyDenied, text)
}
