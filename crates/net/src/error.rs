//! Errors of HTTP requests, by phase.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::deny_rule::{ConnectionDenied, Rule};

/// The phase of a request in which a timeout expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Name lookup.
    Dns,
    /// TCP connect.
    Connect,
    /// TLS handshake.
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

/// The reasons why a request has no response. Hosts are `host:port`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The address policy denied a hop; nothing was sent to it.
    #[error("{0}")]
    Denied(ConnectionDenied),
    /// The name has no usable address.
    #[error("dns failed: {0}")]
    Dns(ConnectionDenied),
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
        /// Message of the TLS library.
        detail: String,
    },
    /// The timeout expired.
    #[error("timed out after {} ms while {phase} ({host})", after.as_millis())]
    Timeout {
        /// The phase.
        phase: Phase,
        /// The host.
        host: String,
        /// The timeout.
        after: Duration,
    },
    /// The peer sent nothing for [`Limits::idle`](crate::Limits::idle).
    #[error("no data for {} ms while {phase} ({host})", after.as_millis())]
    Idle {
        /// The phase: [`Phase::Response`] or [`Phase::Body`].
        phase: Phase,
        /// The host.
        host: String,
        /// The timeout.
        after: Duration,
    },
    /// The peer violated HTTP/1.1 or closed the connection early.
    #[error("http with {host} failed: {detail}")]
    Protocol {
        /// The host.
        host: String,
        /// The problem.
        detail: String,
    },
    /// The response head is larger than 256 headers or 64 KiB.
    #[error("the response head of {host} is too large")]
    HeadTooLarge {
        /// The host.
        host: String,
    },
    /// The body does not match its `Content-Encoding`.
    #[error("the body of {host} is not valid {encoding}: {detail}")]
    Decode {
        /// The host.
        host: String,
        /// The encoding, such as `gzip`.
        encoding: &'static str,
        /// Message of the decoder.
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
    /// The caller's headers or URL are invalid.
    #[error("cannot send the request: {0}")]
    BadRequest(String),
}

impl From<ConnectionDenied> for HttpError {
    fn from(denied: ConnectionDenied) -> Self {
        match denied.rule {
            Rule::DnsUnresolvable | Rule::DnsEmpty => Self::Dns(denied),
            _ => Self::Denied(denied),
        }
    }
}

impl HttpError {
    /// Converts an error of hyper.
    pub(crate) fn from_hyper(error: &hyper::Error, host: String) -> Self {
        // hyper's own predicate for this is only compiled with its server feature.
        if error.is_parse() && error.to_string().contains("too large") {
            return Self::HeadTooLarge { host };
        }
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
        Self::Protocol { host, detail: format!("{error}{}", cause.unwrap_or_default()) }
    }
}
