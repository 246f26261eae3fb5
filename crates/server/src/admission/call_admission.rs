//! Limit 5: how many calls run at once, shared fairly between clients.

use std::time::Duration;

use toolcrib_core::CancellationToken;

use super::admitted_caller::AdmittedCaller;
use super::fair_queue::{FairQueue, Permit};

/// The reason why the calls of a request did not get a permit. None of them was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallRefused {
    /// The daemon is stopping.
    #[error("the daemon is stopping; nothing was run")]
    Stopping,
    /// The queue is full.
    #[error("too many calls are waiting; this one was not accepted, send it again later")]
    QueueFull,
    /// The queue would take longer than the client waits.
    #[error(
        "no slot became free within the time that you wait; nothing was run, send it again later"
    )]
    WaitElapsed,
}

/// The queue in front of calls.
pub(crate) struct CallAdmission {
    queue: FairQueue,
    /// Number of calls of one batch that the engine runs at once: a batch occupies at most this
    /// many slots.
    batch_concurrency: usize,
    shutdown: CancellationToken,
}

impl CallAdmission {
    pub(super) fn new(
        queue: FairQueue,
        batch_concurrency: usize,
        shutdown: CancellationToken,
    ) -> Self {
        Self { queue, batch_concurrency, shutdown }
    }

    /// Returns the queue, for its statistics.
    pub(crate) fn queue(&self) -> &FairQueue {
        &self.queue
    }

    /// Waits for slots for this many calls of one request. Releases the request permit: the request
    /// is read, so the daemon can read the next one of this client.
    ///
    /// # Errors
    /// [`CallRefused::QueueFull`] or [`CallRefused::Stopping`].
    pub(crate) async fn acquire(
        &self,
        caller: &AdmittedCaller,
        calls: usize,
    ) -> Result<Permit, CallRefused> {
        if self.shutdown.is_cancelled() {
            return Err(CallRefused::Stopping);
        }
        caller.request_permit.release();
        let weight = calls.min(self.batch_concurrency);
        let waiter = self.queue.acquire(&caller.client, weight);
        let waiter = waiter.map_err(|_| CallRefused::QueueFull)?;
        tokio::select! {
            permit = waiter => Ok(permit),
            () = self.shutdown.cancelled() => Err(CallRefused::Stopping),
        }
    }

    /// Like [`acquire`](Self::acquire), for at most this long; `None` waits without a limit.
    ///
    /// # Errors
    /// The errors of [`acquire`](Self::acquire), and [`CallRefused::WaitElapsed`].
    pub(crate) async fn acquire_within(
        &self,
        caller: &AdmittedCaller,
        calls: usize,
        wait: Option<Duration>,
    ) -> Result<Permit, CallRefused> {
        let permit = self.acquire(caller, calls);
        match wait {
            None => permit.await,
            Some(wait) => {
                tokio::time::timeout(wait, permit).await.unwrap_or(Err(CallRefused::WaitElapsed))
            }
        }
    }
}
