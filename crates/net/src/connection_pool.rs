//! HTTP connections and the pool of idle ones of a client with keep-alive.
//!
//! A connection serves one request at a time and only that request polls it, so an idle connection
//! has no task. The pool detects that the peer has closed it when a request takes it. It is kept
//! only for the origin for which its address was checked, and only by the client whose policy
//! checked it.
#![deny(clippy::indexing_slicing)]

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::http;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Handle, Id};
use tokio::time::Instant;

use crate::body_stream::ConnectionDriver;
use crate::connect::{ConnectTimeouts, Io};
use crate::error::{HttpError, Phase};
use crate::limits::{
    HARD_MAX_HEAD_BYTES, HARD_MAX_HEADERS, IDLE_CONNECTION_TIME, IDLE_CONNECTIONS,
    IDLE_CONNECTIONS_PER_ORIGIN, READ_BUFFER_BYTES,
};
use crate::url_check::{Host, Target};

/// Scheme, host and port for which the address of a connection was checked (RFC 6454), and the
/// runtime that drives its I/O: in another runtime it would make no progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    https: bool,
    host: Host,
    port: u16,
    runtime: Option<Id>,
}

impl Origin {
    pub(crate) fn from_target(target: &Target) -> Self {
        Self {
            https: target.is_https(),
            host: target.host().clone(),
            port: target.port(),
            runtime: Handle::try_current().ok().map(|handle| handle.id()),
        }
    }
}

/// An HTTP/1.1 connection to a checked address.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: ConnectionDriver,
    peer: SocketAddr,
    moved: Arc<ByteCounts>,
}

/// Number of bytes that a connection has transferred.
#[derive(Default)]
struct ByteCounts {
    received: AtomicU64,
    sent: AtomicU64,
}

/// The reason why an exchange has no response.
pub(crate) struct ExchangeError {
    pub(crate) error: HttpError,
    pub(crate) reach: RequestProgress,
}

/// The progress of a request without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestProgress {
    /// No byte was sent: the peer had already closed the connection, so nothing was processed.
    Unsent,
    /// At least a part was sent, and no byte of a response arrived. The peer had probably closed
    /// the connection, but may have processed the request.
    Unanswered,
    /// A response had begun, or the time had expired.
    ResponseStarted,
}

impl Connection {
    /// Starts HTTP/1.1 on a connected stream.
    pub(crate) async fn open(
        stream: Box<dyn Io>,
        peer: SocketAddr,
        host: &str,
    ) -> Result<Self, HttpError> {
        let moved = Arc::new(ByteCounts::default());
        let counted = CountingStream { stream, moved: Arc::clone(&moved) };
        let (sender, connection) = http1::Builder::new()
            .max_headers(HARD_MAX_HEADERS)
            .max_header_size(HARD_MAX_HEAD_BYTES)
            .max_buf_size(READ_BUFFER_BYTES)
            .handshake(TokioIo::new(counted))
            .await
            .map_err(|error| HttpError::from_hyper(&error, host.to_owned()))?;
        Ok(Self { sender, driver: ConnectionDriver::new(connection), peer, moved })
    }

    /// Returns the checked address of the peer.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Sends a request and waits for the head of its response.
    pub(crate) async fn exchange(
        &mut self,
        message: http::Request<Full<Bytes>>,
        patience: ConnectTimeouts,
        host: &str,
    ) -> Result<http::Response<Incoming>, ExchangeError> {
        let count = |moved: &ByteCounts| {
            (moved.sent.load(Ordering::Relaxed), moved.received.load(Ordering::Relaxed))
        };
        let before = count(&self.moved);
        let sending = self.driver.drive(self.sender.send_request(message));
        match patience.bound(Phase::Response, host, sending).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => {
                let after = count(&self.moved);
                let reach = match () {
                    () if after == before => RequestProgress::Unsent,
                    () if after.1 == before.1 => RequestProgress::Unanswered,
                    () => RequestProgress::ResponseStarted,
                };
                let error = HttpError::from_hyper(&error, host.to_owned());
                Err(ExchangeError { error, reach })
            }
            Err(error) => Err(ExchangeError { error, reach: RequestProgress::ResponseStarted }),
        }
    }

    /// Polls `work` together with the connection.
    pub(crate) async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.driver.drive(work).await
    }

    /// Returns whether another request can be sent. Reads pending input first, such as the end of
    /// the connection.
    pub(crate) async fn is_ready(&mut self) -> bool {
        self.driver.drive(std::future::ready(())).await;
        self.driver.is_open() && self.sender.is_ready()
    }
}

/// A stream that counts the bytes it reads and writes.
struct CountingStream {
    stream: Box<dyn Io>,
    moved: Arc<ByteCounts>,
}

impl CountingStream {
    fn sent(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = &written {
            self.moved.sent.fetch_add(*count as u64, Ordering::Relaxed);
        }
        written
    }
}

impl AsyncRead for CountingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        let more = buf.filled().len().saturating_sub(before);
        self.moved.received.fetch_add(more as u64, Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for CountingStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.sent(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.sent(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// The idle connections of one client, newest last.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Vec<Idle>>);

struct Idle {
    origin: Origin,
    connection: Connection,
    since: Instant,
}

impl Pool {
    /// Takes the most recently used connection to this origin that is still open.
    pub(crate) async fn take(&self, origin: &Origin) -> Option<Connection> {
        loop {
            let mut connection = self.pop(origin)?;
            if connection.is_ready().await {
                return Some(connection);
            }
        }
    }

    fn pop(&self, origin: &Origin) -> Option<Connection> {
        self.with(|idle| {
            let at = idle.iter().rposition(|own| own.origin == *origin)?;
            Some(idle.remove(at).connection)
        })
    }

    /// Keeps a connection whose response was read completely. The oldest connections are dropped
    /// beyond the limits per origin and in total.
    pub(crate) fn put(&self, origin: Origin, connection: Connection) {
        self.with(|idle| {
            let same = idle.iter().filter(|own| own.origin == origin).count();
            let oldest = if same >= IDLE_CONNECTIONS_PER_ORIGIN {
                idle.iter().position(|own| own.origin == origin)
            } else {
                (idle.len() >= IDLE_CONNECTIONS).then_some(0)
            };
            if let Some(oldest) = oldest {
                idle.remove(oldest);
            }
            idle.push(Idle { origin, connection, since: Instant::now() });
        });
    }

    /// Runs `work` on the list after removing expired connections.
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Idle>) -> T) -> T {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|own| own.since.elapsed() < IDLE_CONNECTION_TIME);
        work(&mut idle)
    }
}

/// Returns a connection to the pool after the response was read completely.
pub(crate) struct PoolReturn {
    pub(crate) pool: Arc<Pool>,
    pub(crate) origin: Origin,
}

impl PoolReturn {
    /// Returns the connection if it can serve another request.
    pub(crate) async fn return_connection(self, mut connection: Connection) {
        if connection.is_ready().await {
            self.pool.put(self.origin, connection);
        }
    }
}
