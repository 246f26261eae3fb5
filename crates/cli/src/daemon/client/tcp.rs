//! Connects over the network, with a token. Only connections to this machine may be unencrypted.

use std::fmt;
use std::time::Duration;

use toolcrib_net::{
    AddressPolicy, BodyStream, Follow, Host, HttpClient, HttpError, Limits, Request, check_url,
};

use super::{ApiRequest, DAEMON_VARIABLE, Reply, TOKEN_VARIABLE, unreachable};
use crate::output::Failure;

/// Maximum time without data from a daemon: its streams ping every 15 s.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time of a response: a daemon that runs a task responds when it has ended.
const TOTAL: Duration = Duration::from_secs(24 * 3600);
/// Maximum number of bytes of a response.
const BYTES: usize = 64 * 1024 * 1024;

/// A daemon at an address.
pub(super) struct DaemonUrl {
    /// Without a trailing slash.
    base: String,
    token: Option<String>,
    client: HttpClient,
}

impl fmt::Debug for DaemonUrl {
    /// Formats it without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

impl fmt::Display for DaemonUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

impl DaemonUrl {
    /// Creates a client for this address.
    pub(super) fn new(url: &str, token: Option<String>) -> Result<Self, Failure> {
        let wrong = |what: &str| Failure::configuration(format!("{DAEMON_VARIABLE}: {what}"));
        let base = url.trim().trim_end_matches('/').to_owned();
        if base.contains('@') {
            return Err(wrong(&format!(
                "a name and a password do not belong there; set {TOKEN_VARIABLE}"
            )));
        }
        let policy =
            expand_base_url(&base).and_then(|entry| AddressPolicy::with_allowed([entry]).ok());
        let policy = policy
            .ok_or_else(|| wrong("it is not an address of a daemon; write https://HOST[:PORT]"))?;
        let target = check_url(&base, &policy).map_err(|error| wrong(&error.to_string()))?;
        if !target.is_https() && !is_loopback(target.host()) {
            return Err(wrong(
                "without https others on the network could read the token; use https://",
            ));
        }
        Ok(Self { base, token, client: HttpClient::new(policy) })
    }

    fn request(&self, ask: &ApiRequest<'_>) -> Request {
        let mut request = Request::new(ask.method.clone(), format!("{}{}", self.base, ask.path));
        // Redirects are not followed, because the token is for this address only.
        request.follow = Follow::Never;
        let token = self.token.iter().map(|token| ("authorization", format!("Bearer {token}")));
        let kind = ask.body.as_ref().map(|(kind, _)| ("content-type", (*kind).to_owned()));
        let headers = ask.headers.iter().cloned().chain(token).chain(kind);
        request.headers = headers.map(|(name, value)| (name.to_owned(), value)).collect();
        if let Some((_, body)) = &ask.body {
            request.body = body.clone().into();
        }
        request
    }

    fn limits() -> Limits {
        Limits {
            total: TOTAL,
            idle: Some(IDLE_TIMEOUT),
            max_wire_bytes: BYTES,
            max_inflated_bytes: BYTES,
            ..Limits::default()
        }
    }

    /// Sends a request and waits for the complete response.
    pub(super) async fn send(&self, ask: &ApiRequest<'_>) -> Result<Reply, Failure> {
        let response = self.client.fetch(&self.request(ask), &Self::limits()).await;
        let response = response.map_err(|error| self.connection_failed(&error))?;
        Ok(Reply { status: response.head.status, body: response.body })
    }

    /// Sends a request; returns its status, and its streamed response.
    pub(super) async fn open(&self, ask: &ApiRequest<'_>) -> Result<(u16, ByteStream), Failure> {
        let streaming = self.client.send(&self.request(ask), &Self::limits()).await;
        let streaming = streaming.map_err(|error| self.connection_failed(&error))?;
        let pieces = ByteStream { body: streaming.body, place: self.base.clone() };
        Ok((streaming.head.status, pieces))
    }

    fn connection_failed(&self, error: &HttpError) -> Failure {
        unreachable(&format!("the daemon at {self} does not answer: {error}"))
    }
}

/// Returns host and port of an address: the person has chosen it, so it may be private.
fn expand_base_url(base: &str) -> Option<String> {
    let (scheme, rest) = base.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit(']').next()?;
    if host.contains(':') {
        return Some(authority.to_owned());
    }
    let port = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    Some(format!("{authority}:{port}"))
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Addr(address) => address.is_loopback(),
        Host::Name(name) => name == "localhost",
    }
}

/// A streamed response.
pub(crate) struct ByteStream {
    body: BodyStream,
    place: String,
}

impl ByteStream {
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let piece = self.body.chunk().await.map_err(|error| {
            unreachable(&format!("the daemon at {} broke off: {error}", self.place))
        })?;
        Ok(piece.map(|bytes| bytes.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_nowhere_unencrypted() {
        let check = |url: &str, words: Option<&str>| match (DaemonUrl::new(url, None), words) {
            (Ok(url), None) => assert!(!url.to_string().ends_with('/')),
            (Err(failure), Some(words)) => {
                assert!(failure.message.contains(words), "{url}: {failure:?}");
                assert_eq!(failure.code, 3);
            }
            (other, _) => panic!("{url}: {other:?}"),
        };
        check("https://tools.example.org", None);
        check("https://tools.example.org:8443/", None);
        check("http://127.0.0.1:8717/", None);
        check("http://[::1]:8717", None);
        check("http://localhost:8717", None);
        check("http://tools.example.org", Some("use https://"));
        check("http://10.0.0.1", Some("use https://"));
        check("https://me:secret@tools.example.org", Some("TOOLCRIB_"));
        check("tools.example.org", Some("TOOLCRIB_DAEMON"));
        check("ftp://tools.example.org", Some("TOOLCRIB_DAEMON"));
    }
}
