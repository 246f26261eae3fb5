//! Stage 5: guard hooks may refuse or rewrite; after this only a person changes the arguments.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::time::timeout;
use toolcrib_core::hook::Guarded;
use toolcrib_core::{ErrorType, EventKind, Guard, GuardVerdict, defaults};

use super::decode;
use crate::flight::{InFlight, Passed, Step, fail};

pub(crate) async fn run(flight: &mut InFlight) -> Step {
    if flight.policy().guards.is_empty() || flight.resumed.is_some() {
        return Ok(Passed::SKIPPED);
    }
    let scope = Arc::clone(&flight.scope);
    let mut rewritten = Vec::new();
    for guard in &scope.seen.policy.guards {
        match ask(&**guard, flight).await {
            Ok(GuardVerdict::Continue) => {}
            Ok(GuardVerdict::Rewrite(args)) => {
                decode::again(flight, args)?;
                rewritten.push(guard.name());
            }
            Ok(GuardVerdict::Deny(reason)) => return deny(flight, guard.name(), &reason),
            Err(fault) => return deny(flight, guard.name(), &fault),
        }
    }
    if rewritten.is_empty() {
        return Ok(Passed::PLAIN);
    }
    Ok(Passed::changed(format!("arguments rewritten by {}", rewritten.join(", "))))
}

/// Asks one guard: a late answer, an error and a panic are faults, and a fault denies.
async fn ask(guard: &dyn Guard, flight: &InFlight) -> Result<GuardVerdict, String> {
    let tool = flight.tool.as_ref().map_or(&*flight.asked, |tool| tool.spec().name.as_str());
    let guarded = Guarded {
        call: flight.call,
        run: flight.scope.run.as_ref().map(|run| run.id),
        origin: flight.scope.origin,
        context: &flight.scope.context,
        tool,
        args: &flight.args,
    };
    let checked = AssertUnwindSafe(async { guard.check(&guarded).await }).catch_unwind();
    match timeout(defaults::GUARD_TIMEOUT, checked).await {
        Err(_) => Err("it did not answer in time".to_owned()),
        Ok(Err(_)) => Err("it broke".to_owned()),
        Ok(Ok(verdict)) => verdict,
    }
}

fn deny(flight: &InFlight, guard: &str, reason: &str) -> Step {
    let text = format!(
        "The call of {} was denied by the guard {guard}: {reason}. Do not retry it.",
        flight.asked
    );
    flight.tell(EventKind::PermissionDenied, |event| event.error = Some(text.clone()));
    fail(ErrorType::PolicyDenied, text)
}
