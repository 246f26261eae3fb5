//! Stage 10: the call waits for its turn: the lock of its concurrency key, the limits of its tool and source, a slot of its batch.
//! Waiting here is not tool time.

use std::sync::{Arc, PoisonError};

use tokio::sync::Semaphore;
use toolcrib_core::ErrorType;

use crate::flight::{InFlight, Passed, Step, fail};

pub(crate) async fn run(flight: &mut InFlight) -> Step {
    if flight.cancel.is_cancelled() {
        return stopped();
    }
    let tool = Arc::clone(flight.tool()?);
    let key = flight.assessment.as_mut().and_then(|a| a.concurrency.take());
    let limits: Vec<Arc<Semaphore>> =
        [&tool.limit, &tool.source_limit, &flight.scope.slots].into_iter().flatten().cloned().collect();
    if key.is_none() && limits.is_empty() {
        return Ok(Passed::PLAIN);
    }
    let cancel = flight.cancel.clone();
    let turn = async {
        // The lock first: a call that waits for it must not hold a slot that the holder of the lock needs.
        if flight.held.is_none() {
            flight.held = match (flight.queued.take(), key) {
                (Some(place), _) => Some(place.into_inner().unwrap_or_else(PoisonError::into_inner).await),
                (None, Some((key, access))) => {
                    let engine = Arc::clone(flight.engine());
                    Some(engine.locks.acquire(&key, access).await)
                }
                (None, None) => None,
            };
        }
        for limit in limits {
            // The semaphores are never closed.
            flight.permits.extend(limit.acquire_owned().await.ok());
        }
    };
    tokio::select! {
        () = turn => Ok(Passed::PLAIN),
        () = cancel.cancelled() => stopped(),
    }
}

fn stopped() -> Step {
    fail(ErrorType::Cancelled, "The call was stopped before it ran.")
}
