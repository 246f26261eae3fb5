//! A response body, read in pieces, decoded and bounded on the way. It drives its own connection: dropping it before its
//! end closes the connection, and no background task outlives a call.
#![deny(clippy::indexing_slicing)]

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming};

use crate::connect::Patience;
use crate::error::{HttpError, Phase};
use crate::inflate::{Fed, Inflater};
use crate::limits::Limits;
use crate::message::Cut;
use crate::pool::{Connection, Home};

/// The connection's own future: it moves bytes between the socket and the request and response handles.
pub(crate) struct Driver(Option<Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>>);

impl Driver {
    pub(crate) fn new(
        connection: impl Future<Output = hyper::Result<()>> + Send + 'static,
    ) -> Self {
        Self(Some(Box::pin(connection)))
    }

    /// Whether the connection has not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Runs `work` while moving the connection along. The connection's own errors also reach `work`, so they are
    /// dropped here.
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

/// The body of a response, in pieces. Bounded by [`Limits::max_wire_bytes`], [`Limits::max_inflated_bytes`] and
/// [`Limits::total`], each wait by [`Limits::idle`].
pub struct BodyStream {
    /// The connection, and where it goes at the end of the body, if it may be used again; none after that.
    connection: Option<(Connection, Option<Home>)>,
    incoming: Incoming,
    inflater: Inflater,
    patience: Patience,
    host: String,
    room: usize,
    declared: Option<u64>,
    wire_bytes: u64,
    cut: Option<Cut>,
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
        connection: (Connection, Option<Home>),
        incoming: Incoming,
        inflater: Inflater,
        (patience, host): (Patience, String),
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

    /// The next decoded piece, never empty; none at the end or at a bound ([`BodyStream::cut`] tells which). Nothing is
    /// lost when the future is dropped before it is ready.
    ///
    /// # Errors
    /// Time ran out, the connection broke before the end, or the encoding is invalid. The stream is at its end then.
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
                    self.give_back().await;
                    self.inflater.finish()
                }
            };
            let encoding = self.inflater.name();
            let text = match fed {
                Ok(Fed::More(text)) => text,
                Ok(Fed::Full(text)) => {
                    self.stop(Cut::Inflated);
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

    /// The bound that ended the stream, if one did.
    pub fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// Body bytes read from the wire so far.
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

    /// The whole body was read: its connection may carry the next request.
    async fn give_back(&mut self) {
        if let Some((connection, Some(home))) = self.connection.take() {
            home.give_back(connection).await;
        }
    }

    /// No more is read: the connection is closed, so that the peer stops too.
    fn end(&mut self) {
        self.done = true;
        self.connection = None;
    }

    /// Takes a piece from the wire, up to the wire bound.
    fn take(&mut self, data: &[u8]) -> std::io::Result<Fed> {
        let (taken, beyond) = data.split_at(data.len().min(self.room));
        self.room -= taken.len();
        self.wire_bytes += taken.len() as u64;
        let at_bound = self.room == 0 && self.declared.is_some_and(|all| all > self.wire_bytes);
        if !beyond.is_empty() || at_bound {
            self.stop(Cut::Wire);
        }
        self.inflater.feed(taken)
    }

    fn stop(&mut self, cut: Cut) {
        self.cut = Some(cut);
        self.end();
    }
}
