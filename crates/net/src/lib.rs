//! HTTP client with an address policy that prevents server-side request forgery (SSRF).
//!
//! A model chooses the URLs that tools open, and the pages that it reads influence the choice. This
//! crate decides which URLs may be reached: [`check_url`] checks the text of a URL,
//! [`resolve_checked`] checks every address of a name, [`HttpClient`] connects only to checked
//! addresses, and [`check()`] reports the decision without connecting.
//!
//! # Invariants
//! - A URL is parsed once. The parsed URL is used for the check, the lookup, the connection, the
//!   TLS name and the `Host` header.
//! - A hop resolves once and connects only to an address of that checked answer; the peer's address
//!   is compared again after connecting. One denied address denies the whole name. A client that
//!   keeps connections (opt-in, for configured endpoints) reuses one only for the origin for which
//!   its address was checked, under the same policy.
//! - Every redirect is a new hop with all checks; credentials and bodies never reach another
//!   origin.
//! - All input is bounded: head, wire bytes, inflated bytes, hops, time. Memory depends on the
//!   bounds, not on the peer.
//! - Every function over untrusted text is total: it returns a value or a typed refusal with a
//!   stable rule id.
//! - No task outlives a call: dropping a future or an unread [`BodyStream`] closes its connection.
//!
//! # Not supported
//! Connection pools for URLs that models choose (a pooled connection would outlive the check of its
//! address), proxies from the environment (a proxy would resolve names itself), cookies, HTTP/2,
//! automatic retries, authentication schemes, and wildcard allow entries.

mod address_check;
mod address_policy;
mod blocked_addresses;
mod blocked_names;
mod body_stream;
mod client;
mod connect;
mod connection_pool;
mod content_decoding;
mod deny_rule;
mod dns;
mod error;
mod http_message;
mod limits;
mod own_ports;
mod quick_ack;
mod redirect;
mod stream;
mod tls;
mod url_check;

#[cfg(test)]
mod tests;

pub use address_check::{Check, CheckReply, CheckRequest, Verdict, check, check_all};
pub use address_policy::{AddressPolicy, AllowEntry, AllowEntryError};
pub use blocked_addresses::{AddressClass, classify};
pub use body_stream::BodyStream;
pub use bytes::Bytes;
pub use client::{HttpClient, StreamingResponse};
pub use deny_rule::{AllowReason, ConnectionDenied, Rule};
pub use dns::{
    BoxFuture, CheckedTarget, Resolve, StaticEntryError, StaticResolver, SystemResolver,
    resolve_checked,
};
pub use error::{HttpError, Phase};
pub use http_message::{Follow, Head, Hop, Request, Response, Truncation};
pub use hyper::Method;
pub use limits::{
    CONNECT_TIMEOUT, Limits, MAX_HEADER_BYTES, MAX_HEADERS, MAX_INFLATED_BYTES, MAX_REDIRECTS,
    MAX_WIRE_BYTES, REDIRECT_CEILING, TOTAL_TIMEOUT,
};
pub use own_ports::OwnPorts;
pub use stream::{PlainStream, SecureStream};
pub use tokio_rustls::rustls::RootCertStore;
pub use url_check::{Host, MAX_URL_BYTES, Target, check_url, private_target};
