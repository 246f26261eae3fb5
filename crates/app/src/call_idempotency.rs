//! Calls under an idempotency key: sent twice, they run once, and both senders get the same
//! results.

use std::time::{Duration, Instant};

use toolcrib_core::{Answer, Batch, Call, Origin, RawArgs};
use toolcrib_engine::{Engine, SubmitError};

use crate::toolcrib::Toolcrib;

/// Maximum time to wait while another process runs the same calls; longer than the default limit of
/// any tool. A caller that needs more repeats the request.
const MAX_WAIT: Duration = Duration::from_secs(300);
/// The first wait between two attempts; doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(5);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

impl Toolcrib {
    /// Runs one manual call at most once per key and owner; repeating it returns the first outcome,
    /// across processes too. If the process that ran it died, the recorded state decides whether
    /// the call continues or ends as unknown.
    ///
    /// # Errors
    /// [`SubmitError`]; no call runs in that case. [`SubmitError::RunningElsewhere`] only after
    /// waiting for the other process.
    pub async fn call_with_key(
        &self,
        name: &str,
        args: RawArgs,
        origin: Origin,
        key: &str,
    ) -> Result<Option<Answer>, SubmitError> {
        let batch = self.manual_batch(vec![Call::new(name, args)], origin);
        Ok(self.batch_with_key(batch, key).await?.pop())
    }

    /// Like [`call_with_key`](Self::call_with_key), for several calls.
    ///
    /// # Errors
    /// The errors of [`call_with_key`](Self::call_with_key).
    pub async fn batch_with_key(
        &self,
        batch: Batch,
        key: &str,
    ) -> Result<Vec<Answer>, SubmitError> {
        invoke_once_and_wait(self.engine(), batch, key).await
    }
}

/// Runs a batch at most once; waits while another process runs it.
pub(crate) async fn invoke_once_and_wait(
    engine: &Engine,
    batch: Batch,
    key: &str,
) -> Result<Vec<Answer>, SubmitError> {
    let began = Instant::now();
    let mut wait = FIRST_WAIT;
    loop {
        match engine.invoke_once(batch.clone(), key).await {
            // If the other process dies, the next attempt takes the batch over.
            Err(SubmitError::RunningElsewhere(_)) if began.elapsed() < MAX_WAIT => {
                tokio::time::sleep(wait).await;
                wait = LONGEST_WAIT.min(wait * 2);
            }
            answers => return answers,
        }
    }
}
