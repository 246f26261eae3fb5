//! The accepted batches that this process runs now, and their shared answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, Shared};
use toolcrib_core::{Answer, BatchId};

/// Answers that several callers wait for.
pub(crate) type SharedAnswers = Shared<BoxFuture<'static, Arc<[Answer]>>>;

#[derive(Default)]
pub(crate) struct ActiveBatches {
    running: Mutex<HashMap<BatchId, SharedAnswers>>,
}

impl ActiveBatches {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<BatchId, SharedAnswers>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
