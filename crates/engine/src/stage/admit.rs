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
    let keys = flight.assessment.as_mut().map(|a| std::mem::take(&mut a.concurrency));
    let keys = keys.unwrap_or_default();
    let limits: Vec<Arc<Semaphore>> = [&tool.limit, &tool.source_limit, &flight.scope.slots]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    if keys.is_empty() && flight.queued.is_none() && limits.is_empty() {
        return Ok(Passed::SKIPPED);
    }
    let cancel = flight.cancel.clone();
    let turn = async {
        // The lock first: a call that waits for it must not hold a slot that the holder of the lock needs.
        if let Some(place) = flight.queued.take() {
            flight.held = Some(place.into_inner().unwrap_or_else(PoisonError::into_inner).await);
        } else if !keys.is_empty() {
            let engine = Arc::clone(flight.engine());
            flight.held = Some(engine.locks.acquire_all(keys).await);
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
