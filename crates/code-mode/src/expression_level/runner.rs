//! The level `expression`: sends one piece of code to a waiting worker and monitors it until it
//! ends. A worker is never reused.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use toolcrib_core::{CancellationToken, ToolError};

use crate::captured_output::CapturedOutput;
use crate::expression_level::worker_pool::WorkerPool;
use crate::worker_process::WorkerRun;

/// Number of workers that run at the same time, so that a batch of many calls stays within 2 GiB.
pub(crate) const AT_ONCE: usize = 8;

/// Runs code in workers.
pub(crate) struct ExpressionRunner {
    pool: Arc<WorkerPool>,
    places: Semaphore,
}

impl ExpressionRunner {
    /// Workers of this pool, at most `at_once` of them running.
    pub(crate) fn new(pool: Arc<WorkerPool>, at_once: usize) -> Self {
        Self { pool, places: Semaphore::new(at_once) }
    }

    /// Runs code with a time limit. Collects its output in `printed`.
    ///
    /// # Errors
    /// A [`ToolError`] if there is no worker: the code has not run.
    pub(crate) async fn run(
        &self,
        code: &str,
        limit: Duration,
        cancel: &CancellationToken,
        printed: &mut CapturedOutput<'_>,
    ) -> Result<WorkerRun, ToolError> {
        // The semaphore is never closed, so this only waits.
        let _place = self.places.acquire().await;
        let mut worker = self.pool.take().await?;
        let end = worker.run(code, limit, cancel, printed).await;
        let ran = WorkerRun { end, level: worker.process.level, engine: worker.engine.clone() };
        self.pool.end(worker);
        Ok(ran)
    }
}
