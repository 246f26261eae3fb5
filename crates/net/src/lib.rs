//! One address policy for everything that connects, and the HTTP client that keeps it.
//!
//! A model chooses the URLs that tools open, and pages that it reads choose them for it. This crate decides which of them
//! may be reached: [`check_url`] judges the text of a URL, [`resolve_checked`] every address behind a name,
//! [`HttpClient`] connects to exactly what was judged, and [`check()`] answers the same question without connecting.
//!
//! # Invariants
//! - A URL is parsed once. What is judged is what is resolved, connected to, named in TLS and in the `Host` header.
//! - A hop resolves once, and connects only to an address of that one checked answer; the peer is compared again after
//!   connecting. One refused address refuses the whole name. A client that keeps connections (by request only, for
//!   configured endpoints) uses one again only for the origin for which its address was checked, under the same policy.
//! - Every redirect is a new hop through all of it; credentials and bodies never reach another origin.
//! - Everything read is bounded: head, wire bytes, inflated bytes, hops, time. Memory follows the bounds, not the peer.
//! - Every function of hostile text is total: it returns a value or a typed refusal with a stable rule id.
//! - No task outlives a call: dropping a future or an unread [`BodyStream`] closes its connection.
//!
//! # Absent on purpose
//! Connection pools for the URLs of tools (a pooled connection would outlive the check of its address), proxies from the
//! environment (they would resolve for us), cookies, HTTP/2, automatic retries, authentication schemes, and wildcard
//! allow entries.

mod body;
mod check;
mod client;
mod connect;
mod error;
mod inflate;
mod limits;
mod message;
mod names;
mod own_ports;
mod policy;
mod pool;
mod prompt;
mod redirect;
mod resolve;
mod rule;
mod table;
mod tls;
mod url_check;

#[cfg(test)]
mod tests;

pub use body::BodyStream;
pub use bytes::Bytes;
pub use check::{Check, CheckReply, CheckRequest, Verdict, answer, check};
pub use client::{HttpClient, Streaming};
pub use error::{HttpError, Phase};
pub use hyper::Method;
pub use limits::{
    CONNECT_TIMEOUT, Limits, MAX_HEADER_BYTES, MAX_HEADERS, MAX_INFLATED_BYTES, MAX_REDIRECTS,
    MAX_WIRE_BYTES, REDIRECT_CEILING, TOTAL_TIMEOUT,
};
pub use message::{Cut, Follow, Head, Hop, Request, Response};
pub use own_ports::OwnPorts;
pub use policy::{AddressPolicy, AllowEntry, AllowEntryError};
pub use resolve::{
    BoxFuture, Checked, Resolve, StaticEntryError, StaticResolver, SystemResolver, resolve_checked,
};
pub use rule::{AllowReason, Denied, Rule};
pub use table::{AddrVerdict, verdict};
pub use tokio_rustls::rustls::RootCertStore;
pub use url_check::{Host, MAX_URL_BYTES, Target, check_url};
