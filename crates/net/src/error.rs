//! What can go wrong with a request, told apart by where it went wrong.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::rule::{Denied, Rule};

/// The part of a request that was running when time ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Looking up the name.
    Dns,
    /// Connecting.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Sending the request and waiting for the response head.
    Response,
    /// Reading the body.
    Body,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dns => "looking up the name",
            Self::Connect => "connecting",
            Self::Tls => "negotiating TLS",
            Self::Response => "waiting for the response",
            Self::Body => "reading the body",
        })
    }
}

/// Why there is no response. Hosts are `host:port`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The address policy refused a hop; nothing was sent to it.
    #[error("{0}")]
    Denied(Denied),
    /// The name has no usable answer.
    #[error("dns failed: {0}")]
    Dns(Denied),
    /// No address of the host accepted a connection; `addr` is the last one tried.
    #[error("connect to {host} at {addr} failed: {source}")]
    Connect {
        /// The host.
        host: String,
        /// The last address tried.
        addr: SocketAddr,
        /// Its error.
        source: io::Error,
    },
    /// The TLS handshake failed: certificate, name or protocol.
    #[error("tls with {host} failed: {detail}")]
    Tls {
        /// The host.
        host: String,
        /// What the TLS library says.
        detail: String,
    },
    /// Time ran out.
    #[error("timed out after {} ms while {phase} ({host})", after.as_millis())]
    Timeout {
        /// What was running.
        phase: Phase,
        /// The host.
        host: String,
        /// The limit that was reached.
        after: Duration,
    },
    /// The peer was silent for as long as [`Limits::idle`](crate::Limits::idle) allows.
    #[error("nothing came for {} ms while {phase} ({host})", after.as_millis())]
    Idle {
        /// What was running: [`Phase::Response`] or [`Phase::Body`].
        phase: Phase,
        /// The host.
        host: String,
        /// The limit that was reached.
        after: Duration,
    },
    /// The peer does not speak HTTP/1.1 correctly or closed the connection early.
    #[error("http with {host} failed: {detail}")]
    Protocol {
        /// The host.
        host: String,
        /// What went wrong.
        detail: String,
    },
    /// The response head is larger than 256 headers or 64 KiB.
    #[error("the response head of {host} is too large")]
    HeadTooLarge {
        /// The host.
        host: String,
    },
    /// The body is not what its `Content-Encoding` says.
    #[error("the body of {host} is not valid {encoding}: {detail}")]
    Decode {
        /// The host.
        host: String,
        /// The encoding, such as `gzip`.
        encoding: &'static str,
        /// What the decoder says.
        detail: String,
    },
    /// More redirects than allowed.
    #[error("more than {max} redirects, the last one from {last}")]
    TooManyRedirects {
        /// The limit.
        max: usize,
        /// Origin of the response that would have been followed.
        last: String,
    },
    /// The caller's headers or URL cannot be sent.
    #[error("cannot send the request: {0}")]
    BadRequest(String),
}

impl From<Denied> for HttpError {
    fn from(denied: Denied) -> Self {
        match denied.rule {
            Rule::DnsUnresolvable | Rule::DnsEmpty => Self::Dns(denied),
            _ => Self::Denied(denied),
        }
    }
}

impl HttpError {
    /// Classifies an error of the HTTP library.
    pub(crate) fn from_hyper(error: &hyper::Error, host: String) -> Self {
        // The library's own test for this is compiled for servers only.
        if error.is_parse() && error.to_string().contains("too large") {
            return Self::HeadTooLarge { host };
        }
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
        Self::Protocol { host, detail: format!("{error}{}", cause.unwrap_or_default()) }
    }
}
