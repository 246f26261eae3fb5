//! Work that goes on whoever waits for it: in the task of its caller as long as there is one, and in a task of its own when that is gone.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

/// The work broke.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broke;

/// Waits for work. Most of it is over at once or soon, with its caller still there: a task from the beginning would cost another thread's waking up.
pub(crate) struct GoesOn<T: Send + 'static>(Option<BoxFuture<'static, Result<T, Broke>>>);

impl<T: Send + 'static> GoesOn<T> {
    /// It begins when it is waited for.
    pub(crate) fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        let caught = AssertUnwindSafe(work).catch_unwind();
        Self(Some(caught.map(|done| done.map_err(|_| Broke)).boxed()))
    }
}

impl<T: Send + 'static> Future for GoesOn<T> {
    type Output = Result<T, Broke>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.0 else { return Poll::Pending };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for GoesOn<T> {
    fn drop(&mut self) {
        // Without a runtime everything ends.
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
    async fn what_nobody_waits_for_any_more_is_done_all_the_same() {
        let (gate, (tell, told)) = (Arc::new(Notify::new()), oneshot::channel());
        let own = Arc::clone(&gate);
        let mut work = GoesOn::new(async move {
            own.notified().await;
            let _ = tell.send("done");
        });
        assert!(poll!(&mut work).is_pending());
        drop(work);
        gate.notify_one();
        assert_eq!(told.await, Ok("done"));
    }

    #[tokio::test]
    async fn what_breaks_takes_nobody_with_it() {
        assert_eq!(GoesOn::new(async { 1 }).await, Ok(1));
        let broken: GoesOn<()> = GoesOn::new(async { panic!("on purpose") });
        assert_eq!(broken.await, Err(Broke));
    }
}
