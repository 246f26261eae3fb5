//! Streaming response body: read in chunks, decoded and bounded.
//!
//! The body polls its own connection. Dropping it before its end closes the connection, and no
//! background task outlives a call.
#![deny(clippy::indexing_slicing)]

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming};

use crate::connect::ConnectTimeouts;
use crate::connection_pool::{Connection, PoolReturn};
use crate::content_decoding::{DecodeStatus, Inflater};
use crate::error::{HttpError, Phase};
use crate::http_message::Truncation;
use crate::limits::Limits;

/// The connection's future: it moves bytes between the socket and the request and response handles.
pub(crate) struct ConnectionDriver(Option<Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>>);

impl ConnectionDriver {
    pub(crate) fn new(
        connection: impl Future<Output = hyper::Result<()>> + Send + 'static,
    ) -> Self {
        Self(Some(Box::pin(connection)))
    }

    /// Returns whether the connection is still open.
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Polls `work` together with the connection. Errors of the connection also reach `work`, so
    /// they are ignored here.
    pub(crate) async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        poll_fn(|cx| {
            if let Some(connection) = &mut self.0
                && connection.as_mut().poll(cx).is_ready()
            {
                self.0 = None;
            }
            work.as_mut().poll(cx)
        })
        .await
    }
}

/// A response body in chunks. Bounded by [`Limits::max_wire_bytes`], [`Limits::max_inflated_bytes`]
/// and [`Limits::total`]; each wait is bounded by [`Limits::idle`].
pub struct BodyStream {
    /// The connection and, if it can be reused, the pool to which it returns after the body. `None`
    /// after the end.
    connection: Option<(Connection, Option<PoolReturn>)>,
    incoming: Incoming,
    inflater: Inflater,
    patience: ConnectTimeouts,
    host: String,
    room: usize,
    declared: Option<u64>,
    wire_bytes: u64,
    cut: Option<Truncation>,
    done: bool,
}

impl std::fmt::Debug for BodyStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("BodyStream");
        debug.field("host", &self.host).field("wire_bytes", &self.wire_bytes);
        debug.field("cut", &self.cut).field("done", &self.done).finish_non_exhaustive()
    }
}

impl BodyStream {
    pub(crate) fn new(
        connection: (Connection, Option<PoolReturn>),
        incoming: Incoming,
        inflater: Inflater,
        (patience, host): (ConnectTimeouts, String),
        limits: &Limits,
    ) -> Self {
        let declared = incoming.size_hint().exact();
        Self {
            connection: Some(connection),
            incoming,
            inflater,
            patience,
            host,
            room: limits.max_wire_bytes,
            declared,
            wire_bytes: 0,
            cut: None,
            done: false,
        }
    }

    /// Returns the next decoded chunk, never empty; `None` at the end or at a bound (see
    /// [`BodyStream::truncation`]). The future is cancel-safe.
    ///
    /// # Errors
    /// A timeout, a connection that broke before the end, or an invalid encoding. The stream has
    /// ended then.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        while !self.done {
            let frame = self.frame().await.inspect_err(|_| self.end())?;
            let fed = match frame {
                Some(frame) => match frame.into_data() {
                    Ok(data) => self.take(&data),
                    Err(_trailers) => continue,
                },
                None => {
                    self.done = true;
                    self.return_connection().await;
                    self.inflater.finish()
                }
            };
            let encoding = self.inflater.name();
            let text = match fed {
                Ok(DecodeStatus::More(text)) => text,
                Ok(DecodeStatus::Full(text)) => {
                    self.stop(Truncation::Inflated);
                    text
                }
                Err(error) => {
                    self.end();
                    let (host, detail) = (self.host.clone(), error.to_string());
                    return Err(HttpError::Decode { host, encoding, detail });
                }
            };
            if !text.is_empty() {
                return Ok(Some(text.into()));
            }
        }
        Ok(None)
    }

    /// Returns the bound that ended the stream, if any.
    pub fn truncation(&self) -> Option<Truncation> {
        self.cut
    }

    /// Returns the body bytes read from the wire so far.
    pub fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }

    async fn frame(&mut self) -> Result<Option<Frame<Bytes>>, HttpError> {
        let Some((connection, _)) = &mut self.connection else { return Ok(None) };
        let incoming = &mut self.incoming;
        let next = poll_fn(|cx| match Pin::new(&mut *incoming).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(frame.transpose()),
            Poll::Pending => Poll::Pending,
        });
        let read = self.patience.bound(Phase::Body, &self.host, connection.drive(next));
        read.await?.map_err(|error| HttpError::from_hyper(&error, self.host.clone()))
    }

    /// Returns the connection to the pool after the complete body was read, if it can be reused.
    async fn return_connection(&mut self) {
        if let Some((connection, Some(home))) = self.connection.take() {
            home.return_connection(connection).await;
        }
    }

    /// Ends the stream and closes the connection, so that the peer stops sending.
    fn end(&mut self) {
        self.done = true;
        self.connection = None;
    }

    /// Accepts bytes from the wire, up to the wire bound.
    fn take(&mut self, data: &[u8]) -> std::io::Result<DecodeStatus> {
        let (taken, beyond) = data.split_at(data.len().min(self.room));
        self.room -= taken.len();
        self.wire_bytes += taken.len() as u64;
        let at_bound = self.room == 0 && self.declared.is_some_and(|all| all > self.wire_bytes);
        if !beyond.is_empty() || at_bound {
            self.stop(Truncation::Wire);
        }
        self.inflater.feed(taken)
    }

    fn stop(&mut self, cut: Truncation) {
        self.cut = Some(cut);
        self.end();
    }
}
