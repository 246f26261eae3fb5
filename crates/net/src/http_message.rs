//! HTTP requests and responses as callers see them.
#![deny(clippy::indexing_slicing)]

use std::net::SocketAddr;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, http};

use crate::error::HttpError;
use crate::limits::Limits;

/// Headers that frame the message or name its target; only the client sets them.
const CLIENT_SET_HEADERS: &[&str] = &[
    "host",
    "connection",
    "content-length",
    "expect",
    "http2-settings",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The methods that follow redirects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follow {
    /// None: a 3xx response is returned.
    Never,
    /// GET and HEAD.
    #[default]
    Safe,
    /// Every method; 301, 302 and 303 turn POST into GET, 307 and 308 repeat the request at the
    /// same origin only.
    Every,
}

/// A request to send.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The URL as given; it is checked first.
    pub url: String,
    /// Headers in order. The client sets `Host`, length and connection headers and rejects them
    /// here.
    pub headers: Vec<(String, String)>,
    /// The body; may be empty.
    pub body: Bytes,
    /// Whether redirects are followed.
    pub follow: Follow,
}

impl Request {
    /// Creates a request without headers and body.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self {
            method,
            url: url.into(),
            headers: Vec::new(),
            body: Bytes::new(),
            follow: Follow::default(),
        }
    }

    /// Creates a GET request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Method::GET, url)
    }

    /// Checks that the headers can be sent, without sending anything; for headers from a
    /// configuration.
    ///
    /// # Errors
    /// [`HttpError::BadRequest`] names the header, never its value.
    pub fn check_headers(&self) -> Result<(), HttpError> {
        self.header_map().map(drop)
    }

    /// Returns the headers as sent.
    pub(crate) fn header_map(&self) -> Result<HeaderMap, HttpError> {
        let mut map = HeaderMap::with_capacity(self.headers.len() + 6);
        for (name, value) in &self.headers {
            let bad = |problem: &str| HttpError::BadRequest(format!("header {name:?} {problem}"));
            let parsed =
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("has no valid name"))?;
            if CLIENT_SET_HEADERS.contains(&parsed.as_str()) {
                return Err(bad("is set by the client"));
            }
            let value = HeaderValue::from_str(value).map_err(|_| bad("has no valid value"))?;
            map.try_append(parsed, value).map_err(|_| bad("is one too many"))?;
        }
        Ok(map)
    }
}

/// A redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The URL that redirected.
    pub url: String,
    /// Its status, 301, 302, 303, 307 or 308.
    pub status: u16,
}

/// The head of the final response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// The reason phrase as sent, or the standard one.
    pub reason: String,
    /// The headers. Values of `Set-Cookie` are masked; repeated names are listed at the position of
    /// the first.
    pub headers: Vec<(String, String)>,
    /// Number of headers omitted because of [`Limits::max_headers`] or
    /// [`Limits::max_header_bytes`].
    pub headers_omitted: usize,
    /// The URL that returned the response.
    pub final_url: String,
    /// The redirects that led to it.
    pub redirects: Vec<Hop>,
    /// The checked address of the peer.
    pub peer: SocketAddr,
    /// Size of the complete body on the wire, if the peer declares it.
    pub content_length: Option<u64>,
    /// An encoding that was not decoded, such as `zstd`: the body is unchanged.
    pub undecoded: Option<String>,
}

impl Head {
    /// Returns the first header with this name (case-insensitive).
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// The bound that truncated a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// [`Limits::max_wire_bytes`].
    Wire,
    /// [`Limits::max_inflated_bytes`].
    Inflated,
}

/// A complete response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status, headers and origin.
    pub head: Head,
    /// The decoded body, up to its bounds.
    pub body: Vec<u8>,
    /// The bound that truncated the body; `None` if it is complete.
    pub cut: Option<Truncation>,
    /// Body bytes read from the wire.
    pub wire_bytes: u64,
}

impl Response {
    /// Returns whether the body was truncated.
    pub fn truncated(&self) -> bool {
        self.cut.is_some()
    }
}

/// Returns the reason phrase as sent, or the standard one.
pub(crate) fn reason_of<B>(response: &http::Response<B>) -> String {
    match response.extensions().get::<hyper::ext::ReasonPhrase>() {
        Some(sent) => String::from_utf8_lossy(sent.as_bytes()).into_owned(),
        None => response.status().canonical_reason().unwrap_or_default().to_owned(),
    }
}

/// Returns the first headers within the bounds, and the number of omitted ones.
pub(crate) fn bounded_headers(map: &HeaderMap, limits: &Limits) -> (Vec<(String, String)>, usize) {
    let mut kept = Vec::new();
    let mut bytes = 0;
    for (name, value) in map {
        bytes += name.as_str().len() + value.len();
        if kept.len() == limits.max_headers || bytes > limits.max_header_bytes {
            break;
        }
        let text = String::from_utf8_lossy(value.as_bytes());
        let text = if name == hyper::header::SET_COOKIE {
            masked_cookie(&text)
        } else {
            text.into_owned()
        };
        kept.push((name.as_str().to_owned(), text));
    }
    let omitted = map.len() - kept.len();
    (kept, omitted)
}

/// Returns `name=value; attributes` with the value masked, because a cookie is a credential.
fn masked_cookie(cookie: &str) -> String {
    let (pair, attributes) = cookie.split_at(cookie.find(';').unwrap_or(cookie.len()));
    match pair.split_once('=') {
        Some((name, _)) => format!("{name}=***{attributes}"),
        None => format!("***{attributes}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_masked() {
        for (cookie, expected) in [
            ("sid=abc; Path=/; HttpOnly", "sid=***; Path=/; HttpOnly"),
            ("sid=a=b", "sid=***"),
            ("bare; Secure", "***; Secure"),
            ("", "***"),
        ] {
            assert_eq!(masked_cookie(cookie), expected);
        }
    }

    #[test]
    fn own_and_invalid_headers_are_refused() {
        for (name, value) in [
            ("Host", "internal"),
            ("content-length", "3"),
            ("Transfer-Encoding", "chunked"),
            ("Connection", "upgrade"),
            ("a b", "x"),
            ("", "x"),
            ("x", "a\r\nEvil: 1"),
            ("x", "a\0"),
        ] {
            let mut request = Request::get("https://example.com/");
            request.headers.push((name.into(), value.into()));
            assert!(
                matches!(request.header_map(), Err(HttpError::BadRequest(_))),
                "{name}: {value:?}"
            );
        }
    }
}
