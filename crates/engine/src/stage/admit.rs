//! Stage 10: the call waits for the lock of its concurrency key, the limits of its tool and source,
//! and a slot of its batch. This wait does not count as tool time.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use futures_util::{FutureExt as _, poll};
use tokio::sync::Semaphore;
use toolcrib_core::ErrorType;

use super::phase::{Admitted, Approved, Budgeted};
use super::step::{StagePass, StageResult, fail};
use crate::call_state::CallState;

pub(crate) async fn run(call: &mut CallState, approved: Approved) -> StageResult<Admitted> {
    if call.cancel.is_cancelled() {
        return stopped();
    }
    let Approved { mut plan, queued_locks } = approved;
    let keys = std::mem::take(&mut plan.assessment.concurrency);
    let tool = plan.tool();
    let limits: Vec<Arc<Semaphore>> = [&tool.limit, &tool.source_limit, &call.scope.slots]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    if keys.is_empty() && queued_locks.is_none() && limits.is_empty() {
        return Ok(StagePass::skipped(Admitted(plan)));
    }
    let cancel = call.cancel.clone();
    let turn = async {
        // The lock first: a call that waits for it must not hold a slot that the holder of the lock
        // needs.
        if let Some(queued) = queued_locks {
            call.admission.locks =
                queued.into_inner().unwrap_or_else(PoisonError::into_inner).await;
        } else if !keys.is_empty() {
            let engine = Arc::clone(call.engine());
            call.admission.locks = engine.concurrency_locks.acquire_all(keys).await;
        }
        for limit in limits {
            // The semaphores are never closed.
            call.admission.permits.extend(limit.acquire_owned().await.ok());
        }
    };
    tokio::select! {
        () = turn => Ok(StagePass::plain(Admitted(plan))),
        () = cancel.cancelled() => stopped(),
    }
}

/// Enters the queues of the concurrency keys now, so that calls of one batch get their locks in the
/// order of the batch. A call that needs a decision of a person enters them after the decision.
pub(crate) async fn enqueue(call: &mut CallState, budgeted: &mut Budgeted) {
    let keys = &mut budgeted.plan.assessment.concurrency;
    if keys.is_empty() || !budgeted.asks.is_empty() {
        return;
    }
    let (keys, engine) = (std::mem::take(keys), Arc::clone(call.engine()));
    let mut queued = async move { engine.concurrency_locks.acquire_all(keys).await }.boxed();
    match poll!(queued.as_mut()) {
        Poll::Ready(locks) => call.admission.locks = locks,
        Poll::Pending => budgeted.queued_locks = Some(Mutex::new(queued)),
    }
}

fn stopped() -> StageResult<Admitted> {
    fail(ErrorType::Cancelled, "The call was stopped before it ran.")
}
