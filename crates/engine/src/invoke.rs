//! The entry for every batch: claims the store, and sends new batches to `batch` and repeated ones
//! to `resume::interrupted_calls`.

use std::sync::Arc;

use toolcrib_core::{Answer, Batch, BatchSubscriber, ToolError};

use crate::batch;
use crate::child_calls::parent::ParentContext;
use crate::engine_inner::EngineInner;
use crate::resume::interrupted_calls;

/// Runs a batch; `parent` is the running call that makes these calls.
pub(crate) async fn run(
    engine: Arc<EngineInner>,
    batch: Batch,
    subscriber: Option<Arc<dyn BatchSubscriber>>,
    parent: Option<Arc<ParentContext>>,
) -> Vec<Answer> {
    if let Err(error) = engine.claim().await {
        let refuse = |call| batch::claim_failed(call, &error);
        let answers: Vec<Answer> = batch.calls.into_iter().map(refuse).collect();
        if let Some(subscriber) = subscriber {
            answers.iter().for_each(|answer| subscriber.on_answer(answer));
        }
        return answers;
    }
    if batch.is_replay {
        return interrupted_calls::run(engine, batch, subscriber, parent).await;
    }
    batch::run_new(engine, batch, subscriber, parent).await
}

/// Answers and records the calls of a batch as refused, without running any.
pub(crate) async fn refuse(
    engine: Arc<EngineInner>,
    batch: Batch,
    error: ToolError,
) -> Vec<Answer> {
    if let Err(error) = engine.claim().await {
        return batch.calls.into_iter().map(|call| batch::claim_failed(call, &error)).collect();
    }
    batch::refuse(engine, batch, &error).await
}
