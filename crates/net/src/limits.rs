//! The bounds of one request, each with its source.

use std::time::Duration;

/// Whole request, all redirects included: sandbox research §4.2 (7) and the `http_request` row of SPEC §2.2.
pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Look-up, and connection with TLS, of one hop: SPEC §1.9.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Body bytes read from the wire, before inflating: SPEC §1.9.
pub const MAX_WIRE_BYTES: usize = 512 * 1024;
/// Body bytes after inflating: four times the wire bound, the usual ratio of gzip on text. What is beyond is cut.
pub const MAX_INFLATED_BYTES: usize = 4 * MAX_WIRE_BYTES;
/// Response headers that are kept.
pub const MAX_HEADERS: usize = 64;
/// Bytes of kept response headers, names and values.
pub const MAX_HEADER_BYTES: usize = 8 * 1024;
/// Redirects followed: SPEC §1.9.
pub const MAX_REDIRECTS: usize = 5;
/// Most redirects that can be asked for: sandbox research §4.2 (6).
pub const REDIRECT_CEILING: usize = 10;

/// Idle connections that a client with keep-alive holds for one origin: as many parallel requests as one conversation makes.
pub(crate) const IDLE_CONNECTIONS_PER_ORIGIN: usize = 4;
/// Idle connections that a client with keep-alive holds altogether.
pub(crate) const IDLE_CONNECTIONS: usize = 32;
/// How long an idle connection is held; common servers close theirs after 60 to 75 seconds.
pub(crate) const IDLE_CONNECTION_TIME: Duration = Duration::from_secs(60);
/// Headers in a response before it is refused rather than shortened; a browser accepts about as many.
pub(crate) const HARD_MAX_HEADERS: usize = 256;
/// Bytes of a response head before it is refused rather than shortened.
pub(crate) const HARD_MAX_HEAD_BYTES: usize = 64 * 1024;
/// Read buffer of a connection; must hold a whole head.
pub(crate) const READ_BUFFER_BYTES: usize = 2 * HARD_MAX_HEAD_BYTES;
/// Addresses of one name that are tried; they share the connect timeout.
pub(crate) const MAX_CONNECT_ATTEMPTS: usize = 4;

/// The bounds of one request. `Default` has the constants of this module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the start to the last body byte, all hops together. For an endless stream choose a large value.
    pub total: Duration,
    /// Longest silence of the peer while its response head or the next piece of its body is awaited; none = only
    /// [`Limits::total`] bounds it. For event streams, whose whole length nobody knows. The wait for the head begins with the sending of the
    /// request, so a slow upload counts as silence: choose it longer than the largest request takes.
    pub idle: Option<Duration>,
    /// Look-up of one hop, and connection plus TLS of one hop.
    pub connect: Duration,
    /// Body bytes from the wire; the body is cut there.
    pub max_wire_bytes: usize,
    /// Body bytes after inflating; the body is cut there.
    pub max_inflated_bytes: usize,
    /// Response headers kept, the first ones.
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
