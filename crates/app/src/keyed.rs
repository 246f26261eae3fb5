//! Calls under an idempotency key: sent twice, they run once, and both senders get the same answers.

use std::time::{Duration, Instant};

use toolcrib_core::{Answer, Batch, Call, Origin, RawArgs};
use toolcrib_engine::{Engine, SubmitError};

use crate::toolcrib::Toolcrib;

/// How long the same calls are waited for while another process runs them. Longer than any tool may run unless somebody configured it so;
/// who needs more asks again.
const PATIENCE: Duration = Duration::from_secs(300);
/// The first wait between two looks; it doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(5);
/// The longest wait between two looks.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

impl Toolcrib {
    /// Runs one call by hand at most once for each key of its owner: the same call again gets the answer of the first, from another process
    /// too. What a process that died left of it is taken over (DESIGN 4, Crash rule).
    ///
    /// # Errors
    /// [`SubmitError`]; then nothing runs. [`SubmitError::AtWork`] only after the other process was waited for.
    pub async fn call_once(
        &self,
        name: &str,
        args: RawArgs,
        origin: Origin,
        key: &str,
    ) -> Result<Option<Answer>, SubmitError> {
        let batch = self.batch_of(vec![Call::new(name, args)], origin);
        Ok(self.batch_once(batch, key).await?.pop())
    }

    /// The same for calls that are at hand.
    ///
    /// # Errors
    /// As [`call_once`](Self::call_once).
    pub async fn batch_once(&self, batch: Batch, key: &str) -> Result<Vec<Answer>, SubmitError> {
        once(self.engine(), batch, key).await
    }
}

/// Runs a batch at most once, and waits while another process does.
pub(crate) async fn once(
    engine: &Engine,
    batch: Batch,
    key: &str,
) -> Result<Vec<Answer>, SubmitError> {
    let began = Instant::now();
    let mut wait = FIRST_WAIT;
    loop {
        match engine.invoke_once(batch.clone(), key).await {
            // Whoever runs them may die: then the next look takes over.
            Err(SubmitError::AtWork(_)) if began.elapsed() < PATIENCE => {
                tokio::time::sleep(wait).await;
                wait = LONGEST_WAIT.min(wait * 2);
            }
            answers => return answers,
        }
    }
}
