//! The promise to run a call once a decision about it is stored: an accepted batch, stored before
//! the decision. After a crash in between, recovery finds the batch whether the decision was stored
//! or not. While the process lives, other processes can see which one runs the call.

use toolcrib_core::store::PendingApproval;
use toolcrib_core::{AcceptedBatch, Batch, BatchId, Call, StoreError};

use crate::engine_inner::EngineInner;

/// Stores the promise for the call of a question. The decision is stored afterwards and must
/// survive a power loss; the promise precedes it in the same log.
pub(crate) async fn store(
    engine: &EngineInner,
    waiting: &PendingApproval,
) -> Result<AcceptedBatch, StoreError> {
    let batch = match waiting.batch.parent_call.as_deref() {
        // The parent resumes its call.
        Some(parent) => Batch::clone(&parent.parent),
        // The run is that of the response containing the call; it is opened again when the call
        // resumes.
        None => Batch { run: None, ..waiting.batch.clone() },
    };
    let (id, accepted_at) = (BatchId::fresh(), engine.clock.now_ms());
    let accept = |epoch| {
        let accepted = AcceptedBatch { id, key: None, batch: batch.clone(), accepted_at, epoch };
        async move {
            engine.calls.accept_ahead(accepted.clone()).await?;
            Ok(accepted)
        }
    };
    engine.under_claim(accept).await
}

/// Returns the open promise of any process for the call of a question.
pub(crate) async fn find(
    engine: &EngineInner,
    waiting: &PendingApproval,
) -> Result<Option<AcceptedBatch>, StoreError> {
    let parent = waiting.batch.parent_call.as_deref();
    let parent = parent.and_then(|parent| parent.parent.calls.first()).map(|call: &Call| call.id);
    engine.calls.batch_of(parent.unwrap_or(waiting.request.call)).await
}
