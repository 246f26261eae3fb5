//! Limits of one HTTP request.

use std::time::Duration;

/// Timeout of the complete request, including all redirects.
pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of the lookup, and of connecting including TLS, for each hop.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum body bytes read from the wire, before decompression.
pub const MAX_WIRE_BYTES: usize = 512 * 1024;
/// Maximum body bytes after decompression: four times the wire limit, the usual ratio of gzip on
/// text. The rest is truncated.
pub const MAX_INFLATED_BYTES: usize = 4 * MAX_WIRE_BYTES;
/// Maximum number of response headers that are returned.
pub const MAX_HEADERS: usize = 64;
/// Maximum bytes of kept response headers, names and values.
pub const MAX_HEADER_BYTES: usize = 8 * 1024;
/// Maximum number of redirects that are followed.
pub const MAX_REDIRECTS: usize = 5;
/// Upper bound of the configurable number of redirects.
pub const REDIRECT_CEILING: usize = 10;

/// Idle connections kept for one origin: the number of parallel requests of one conversation.
pub(crate) const IDLE_CONNECTIONS_PER_ORIGIN: usize = 4;
/// Idle connections kept in total.
pub(crate) const IDLE_CONNECTIONS: usize = 32;
/// Maximum time that an idle connection is kept; common servers close theirs after 60 to 75
/// seconds.
pub(crate) const IDLE_CONNECTION_TIME: Duration = Duration::from_secs(60);
/// Number of headers above which a response is rejected instead of truncated; browsers accept about
/// as many.
pub(crate) const HARD_MAX_HEADERS: usize = 256;
/// Bytes of a response head above which it is rejected instead of truncated.
pub(crate) const HARD_MAX_HEAD_BYTES: usize = 64 * 1024;
/// Read buffer of a connection; must fit a complete head.
pub(crate) const READ_BUFFER_BYTES: usize = 2 * HARD_MAX_HEAD_BYTES;
/// Addresses of one name that are tried; they share the connect timeout.
pub(crate) const MAX_CONNECT_ATTEMPTS: usize = 4;

/// The limits of one request. `Default` uses the constants of this module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the start to the last body byte, all hops together. Use a large value for an endless
    /// stream.
    pub total: Duration,
    /// Maximum silence of the peer while waiting for the response head or the next chunk of the
    /// body; `None`: only [`Limits::total`] applies. For event streams, whose length is unknown.
    /// The wait for the head begins with sending the request, so a slow upload counts as silence:
    /// use a value longer than the largest upload takes.
    pub idle: Option<Duration>,
    /// Lookup of one hop, and connecting plus TLS of one hop.
    pub connect: Duration,
    /// Body bytes from the wire; the rest is truncated.
    pub max_wire_bytes: usize,
    /// Body bytes after decompression; the rest is truncated.
    pub max_inflated_bytes: usize,
    /// Response headers kept, in order.
    pub max_headers: usize,
    /// Bytes of response headers kept, names and values.
    pub max_header_bytes: usize,
    /// Redirects followed, at most [`REDIRECT_CEILING`].
    pub max_redirects: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: TOTAL_TIMEOUT,
            idle: None,
            connect: CONNECT_TIMEOUT,
            max_wire_bytes: MAX_WIRE_BYTES,
            max_inflated_bytes: MAX_INFLATED_BYTES,
            max_headers: MAX_HEADERS,
            max_header_bytes: MAX_HEADER_BYTES,
            max_redirects: MAX_REDIRECTS,
        }
    }
}
