//! A body that has to come in time: nobody holds a request open by sending it one byte at a time.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};

/// All of a body has this many times the longest silence in it.
const SILENCES: u32 = 10;

/// A body with a clock.
pub(super) struct Timed {
    body: Incoming,
    silence: Duration,
    end: Instant,
    /// Runs while a piece is waited for.
    clock: Option<Pin<Box<Sleep>>>,
}

impl Timed {
    pub(super) fn new(body: Incoming, silence: Duration) -> Self {
        let end = Instant::now() + silence.saturating_mul(SILENCES);
        Self { body, silence, end, clock: None }
    }
}

impl Body for Timed {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.clock = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(BoxError::from)));
        }
        let until = self.end.min(Instant::now() + self.silence);
        let clock = self.clock.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        ready!(clock.as_mut().poll(context));
        Poll::Ready(Some(Err("the body did not come in time".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
