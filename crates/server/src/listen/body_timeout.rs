//! A request body with timeouts, so that a client cannot keep a request open by sending single
//! bytes.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};

/// The maximum time for the whole body is this many times the idle timeout.
const TOTAL_FACTOR: u32 = 10;

/// A body with an idle timeout and a total timeout.
pub(super) struct TimeoutBody {
    body: Incoming,
    idle_timeout: Duration,
    deadline: Instant,
    /// Timer that runs while the next frame is awaited.
    timer: Option<Pin<Box<Sleep>>>,
}

impl TimeoutBody {
    pub(super) fn new(body: Incoming, idle_timeout: Duration) -> Self {
        let deadline = Instant::now() + idle_timeout.saturating_mul(TOTAL_FACTOR);
        Self { body, idle_timeout, deadline, timer: None }
    }
}

impl Body for TimeoutBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.timer = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(BoxError::from)));
        }
        let until = self.deadline.min(Instant::now() + self.idle_timeout);
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Some(Err("the body did not arrive in time".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
