//! Work that outlives its caller: the caller's task polls it, and it continues in a separate task
//! when the caller is dropped.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

/// The work panicked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TaskPanicked;

/// Work that continues when this future is dropped. Most work ends soon, while its caller still
/// waits: spawning it at once would cost the wakeup of another thread.
pub(crate) struct DetachOnDrop<T: Send + 'static>(
    Option<BoxFuture<'static, Result<T, TaskPanicked>>>,
);

impl<T: Send + 'static> DetachOnDrop<T> {
    /// Wraps work; it starts with the first poll.
    pub(crate) fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        let caught = AssertUnwindSafe(work).catch_unwind();
        Self(Some(caught.map(|done| done.map_err(|_| TaskPanicked)).boxed()))
    }
}

impl<T: Send + 'static> Future for DetachOnDrop<T> {
    type Output = Result<T, TaskPanicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.0 else { return Poll::Pending };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for DetachOnDrop<T> {
    fn drop(&mut self) {
        // Without a runtime, the work cannot continue.
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::poll;
    use tokio::sync::{Notify, oneshot};

    use super::*;

    #[tokio::test]
    async fn work_whose_caller_is_dropped_runs_to_its_end() {
        let (gate, (send, received)) = (Arc::new(Notify::new()), oneshot::channel());
        let own = Arc::clone(&gate);
        let mut work = DetachOnDrop::new(async move {
            own.notified().await;
            let _ = send.send("done");
        });
        assert!(poll!(&mut work).is_pending());
        drop(work);
        gate.notify_one();
        assert_eq!(received.await, Ok("done"));
    }

    #[tokio::test]
    async fn a_panic_is_returned_as_an_error() {
        assert_eq!(DetachOnDrop::new(async { 1 }).await, Ok(1));
        let broken: DetachOnDrop<()> = DetachOnDrop::new(async { panic!("on purpose") });
        assert_eq!(broken.await, Err(TaskPanicked));
    }
}
