//! The HTTP client. Each hop checks the URL, resolves once, connects to a checked address and
//! sends; redirects are followed manually so that every hop is checked.
#![deny(clippy::indexing_slicing)]

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, HeaderMap,
    HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use hyper::{Method, http};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::address_policy::{AddressPolicy, AllowEntry};
use crate::body_stream::BodyStream;
use crate::connect::{ConnectTimeouts, Deadline, Dialer};
use crate::connection_pool::{
    Connection, ExchangeError, Origin, Pool, PoolReturn, RequestProgress,
};
use crate::content_decoding::Inflater;
use crate::dns::{Resolve, SystemResolver};
use crate::error::HttpError;
use crate::http_message::{Head, Hop, Request, Response, bounded_headers, reason_of};
use crate::limits::{Limits, REDIRECT_CEILING};
use crate::redirect::{RedirectedRequest, is_followed, next_hop};
use crate::stream::PlainStream;
use crate::tls;
use crate::url_check::{Target, check_stream_target, check_url};

/// Sent if the caller sets no `User-Agent`.
const DEFAULT_USER_AGENT: &str = concat!("toolcrib/", env!("CARGO_PKG_VERSION"));
/// The encodings that [`Inflater`] supports.
const ENCODINGS: &str = "gzip, deflate, br";

/// An HTTP/1.1 client bound to one address policy. It reads no proxy settings from the environment,
/// stores no cookies, and keeps no connections unless [`HttpClient::with_keep_alive`] is used.
/// Cheap to clone; usable in any tokio runtime with time and I/O enabled.
#[derive(Clone)]
pub struct HttpClient {
    policy: Arc<AddressPolicy>,
    resolver: Arc<dyn Resolve>,
    tls: Option<Arc<ClientConfig>>,
    pool: Option<Arc<Pool>>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// A response whose body has not been read yet.
#[derive(Debug)]
pub struct StreamingResponse {
    /// Status, headers and origin.
    pub head: Head,
    /// The body in chunks.
    pub body: BodyStream,
}

/// The response of one hop.
struct Answer {
    response: http::Response<Incoming>,
    connection: Connection,
    home: Option<PoolReturn>,
}

impl HttpClient {
    /// Creates a client with the system's resolver and root certificates, which are loaded at the
    /// first https request.
    pub fn new(policy: impl Into<Arc<AddressPolicy>>) -> Self {
        Self { policy: policy.into(), resolver: Arc::new(SystemResolver), tls: None, pool: None }
    }

    /// Uses another resolver. Its results are checked like those of the system.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolve>) -> Self {
        self.resolver = resolver;
        self.forget_connections();
        self
    }

    /// Keeps connections for later requests to the same origin: at most 4 idle ones per origin,
    /// each for at most 60 seconds. For endpoints that the owner configured; clones share the
    /// connections.
    ///
    /// A request whose kept connection turns out to be closed is sent once more on a new one in two
    /// cases: if no byte of it was sent, so that the peer cannot have processed it; or if the
    /// method is idempotent (RFC 9110 section 9.2.2) and no byte of a response arrived. A `POST`
    /// that was sent is never repeated automatically, because it may have been processed, and
    /// charged, already. The caller decides whether to send it again.
    #[must_use]
    pub fn with_keep_alive(mut self) -> Self {
        self.pool = Some(Arc::default());
        self
    }

    /// Trusts exactly these root certificates.
    ///
    /// # Errors
    /// The TLS library rejects the configuration.
    pub fn with_tls_roots(mut self, roots: RootCertStore) -> Result<Self, HttpError> {
        let refused = |error: tokio_rustls::rustls::Error| HttpError::BadRequest(error.to_string());
        self.tls = Some(tls::config_with(roots).map_err(refused)?);
        self.forget_connections();
        Ok(self)
    }

    /// Drops connections that were established under earlier settings.
    fn forget_connections(&mut self) {
        if self.pool.is_some() {
            self.pool = Some(Arc::default());
        }
    }

    /// Returns the same client with one more target open, for one request that a person approved.
    /// It has no kept connections.
    #[must_use]
    pub fn with_opened(&self, entry: AllowEntry) -> Self {
        let policy = AddressPolicy::clone(&self.policy).with_entry(entry);
        Self { policy: Arc::new(policy), pool: None, ..self.clone() }
    }

    /// Returns the policy against which every hop is checked.
    pub fn policy(&self) -> &AddressPolicy {
        &self.policy
    }

    /// Opens a TCP connection for a protocol other than HTTP, such as IMAP, under the same policy:
    /// one lookup, every address checked, and only checked addresses connected to.
    ///
    /// # Errors
    /// [`HttpError::Denied`], or the reason why no address accepted a connection.
    pub async fn open_stream(
        &self,
        host: &str,
        port: u16,
        limits: &Limits,
    ) -> Result<PlainStream, HttpError> {
        let target = check_stream_target(host, port, &self.policy)?;
        let dialer = Dialer {
            policy: &self.policy,
            resolver: &*self.resolver,
            tls: self.tls.as_ref(),
            limits,
            deadline: Deadline::after(limits.total),
        };
        let (stream, _) = dialer.dial_tcp(&target).await?;
        let config = match &self.tls {
            Some(config) => Arc::clone(config),
            None => tls::system_config().map_err(|error| HttpError::Tls {
                host: target.authority(),
                detail: error.to_string(),
            })?,
        };
        Ok(PlainStream::new(stream, target, tls::without_alpn(&config)))
    }

    /// Sends a request and reads the body, up to its bounds.
    ///
    /// # Errors
    /// See [`HttpError`]. Every status is a response, not an error; a body beyond its bound is
    /// truncated, not an error.
    pub async fn fetch(&self, request: &Request, limits: &Limits) -> Result<Response, HttpError> {
        let StreamingResponse { head, body: mut stream } = self.send(request, limits).await?;
        let mut body = Vec::new();
        while let Some(chunk) = stream.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(Response { head, body, cut: stream.truncation(), wire_bytes: stream.wire_bytes() })
    }

    /// Sends a request and returns after the response head; for event streams and downloads.
    ///
    /// # Errors
    /// See [`HttpError`].
    pub async fn send(
        &self,
        request: &Request,
        limits: &Limits,
    ) -> Result<StreamingResponse, HttpError> {
        if request.method == Method::CONNECT {
            return Err(HttpError::BadRequest("CONNECT opens a tunnel, not a URL".to_owned()));
        }
        let deadline = Deadline::after(limits.total);
        let max_redirects = limits.max_redirects.min(REDIRECT_CEILING);
        let headers = with_defaults(request.header_map()?);
        let mut outgoing = RedirectedRequest {
            method: request.method.clone(),
            headers,
            body: request.body.clone(),
        };
        let mut target = check_url(&request.url, &self.policy)?;
        let mut redirects = Vec::new();
        loop {
            let came_from = redirects.last().map(|hop: &Hop| hop.url.clone());
            let answer = self.hop(&target, &outgoing, limits, deadline).await;
            let answer = answer.map_err(|error| name_redirect(error, came_from))?;
            let Some(location) = location(&answer.response, &outgoing.method, request) else {
                let patience = ConnectTimeouts { deadline, idle: limits.idle };
                return Ok(finish(answer, &target, redirects, limits, patience));
            };
            if redirects.len() >= max_redirects {
                let last = target.origin();
                return Err(HttpError::TooManyRedirects { max: max_redirects, last });
            }
            let status = answer.response.status();
            redirects.push(Hop { url: target.url().to_string(), status: status.as_u16() });
            target = next_hop(&target, status, &location, &mut outgoing, &self.policy)?;
        }
    }

    /// Sends the request over a connection to a checked address of `target` and waits for the head.
    async fn hop(
        &self,
        target: &Target,
        outgoing: &RedirectedRequest,
        limits: &Limits,
        deadline: Deadline,
    ) -> Result<Answer, HttpError> {
        let patience = ConnectTimeouts { deadline, idle: limits.idle };
        let host = target.authority();
        if let Some(answer) = self.retry_hop(target, outgoing, patience, &host).await? {
            return Ok(answer);
        }
        let message = message_for(target, outgoing, self.pool.is_some())?;
        let dialer = Dialer {
            policy: &self.policy,
            resolver: self.resolver.as_ref(),
            tls: self.tls.as_ref(),
            limits,
            deadline,
        };
        let (stream, peer) = dialer.dial(target).await?;
        let mut connection = Connection::open(stream, peer, &host).await?;
        let sent = connection.exchange(message, patience, &host).await;
        let response = sent.map_err(|unanswered| unanswered.error)?;
        Ok(Answer { response, connection, home: self.pool_return(target) })
    }

    /// Sends the request over a kept connection. `None` if there is none, or if the peer had closed
    /// it and the request may be sent again.
    async fn retry_hop(
        &self,
        target: &Target,
        outgoing: &RedirectedRequest,
        patience: ConnectTimeouts,
        host: &str,
    ) -> Result<Option<Answer>, HttpError> {
        let Some(home) = self.pool_return(target) else { return Ok(None) };
        let Some(mut connection) = home.pool.take(&home.origin).await else { return Ok(None) };
        let message = message_for(target, outgoing, true)?;
        match connection.exchange(message, patience, host).await {
            Ok(response) => Ok(Some(Answer { response, connection, home: Some(home) })),
            Err(ExchangeError { reach: RequestProgress::Unsent, .. }) => Ok(None),
            Err(ExchangeError { reach: RequestProgress::Unanswered, .. })
                if outgoing.method.is_idempotent() =>
            {
                Ok(None)
            }
            Err(ExchangeError { error, .. }) => Err(error),
        }
    }

    fn pool_return(&self, target: &Target) -> Option<PoolReturn> {
        let pool = Arc::clone(self.pool.as_ref()?);
        Some(PoolReturn { pool, origin: Origin::from_target(target) })
    }
}

fn with_defaults(mut headers: HeaderMap) -> HeaderMap {
    for (name, value) in
        [(ACCEPT, "*/*"), (ACCEPT_ENCODING, ENCODINGS), (USER_AGENT, DEFAULT_USER_AGENT)]
    {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers
}

/// Creates the request of one hop. Every part that names the target comes from the checked target.
fn message_for(
    target: &Target,
    outgoing: &RedirectedRequest,
    keep_alive: bool,
) -> Result<http::Request<Full<Bytes>>, HttpError> {
    let unsendable = |error: &dyn fmt::Display| HttpError::BadRequest(error.to_string());
    let host = HeaderValue::from_str(&target.host_header()).map_err(|error| unsendable(&error))?;
    let mut message = http::Request::new(Full::new(outgoing.body.clone()));
    *message.method_mut() = outgoing.method.clone();
    *message.uri_mut() = target.request_target().parse().map_err(|error| unsendable(&error))?;
    let mut own: Vec<(HeaderName, HeaderValue)> = vec![(HOST, host)];
    if !keep_alive {
        own.push((CONNECTION, HeaderValue::from_static("close")));
    }
    let expects_body = matches!(outgoing.method, Method::POST | Method::PUT | Method::PATCH);
    if expects_body && outgoing.body.is_empty() {
        own.push((CONTENT_LENGTH, HeaderValue::from_static("0")));
    }
    message.headers_mut().extend(own);
    message.headers_mut().extend(outgoing.headers.clone());
    Ok(message)
}

/// Returns the `Location` header of a response whose redirect is followed.
fn location(
    response: &http::Response<Incoming>,
    method: &Method,
    request: &Request,
) -> Option<String> {
    if !is_followed(response.status(), method, request.follow) {
        return None;
    }
    let value = response.headers().get(LOCATION)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// Adds the redirecting origin to a refusal at a later hop.
fn name_redirect(error: HttpError, came_from: Option<String>) -> HttpError {
    let origin = came_from.and_then(|url| url::Url::parse(&url).ok());
    match (error, origin) {
        (HttpError::Denied(denied), Some(url)) => {
            HttpError::Denied(denied.redirected_from(url.origin().ascii_serialization()))
        }
        (error, _) => error,
    }
}

/// Creates the final response for the caller, with an unread body.
fn finish(
    answer: Answer,
    target: &Target,
    redirects: Vec<Hop>,
    limits: &Limits,
    patience: ConnectTimeouts,
) -> StreamingResponse {
    let Answer { response, connection, home } = answer;
    let reason = reason_of(&response);
    let (parts, incoming) = response.into_parts();
    let encoding = parts.headers.get_all(CONTENT_ENCODING).iter();
    let encoding =
        encoding.map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned());
    let encoding = encoding.collect::<Vec<_>>().join(", ");
    let known = Inflater::for_encoding(&encoding, limits.max_inflated_bytes);
    let undecoded = known.is_none().then_some(encoding);
    let inflater = known.unwrap_or_else(|| Inflater::identity(limits.max_inflated_bytes));
    let (headers, headers_omitted) = bounded_headers(&parts.headers, limits);
    let head = Head {
        status: parts.status.as_u16(),
        reason,
        headers,
        headers_omitted,
        final_url: target.url().to_string(),
        redirects,
        peer: connection.peer(),
        content_length: declared_length(&parts.headers, &incoming),
        undecoded,
    };
    let context = (patience, target.authority());
    let body = BodyStream::new((connection, home), incoming, inflater, context, limits);
    StreamingResponse { head, body }
}

/// Returns the declared length; in a response to HEAD, the length of the body that GET would
/// return.
fn declared_length(headers: &HeaderMap, incoming: &Incoming) -> Option<u64> {
    let header = || headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok();
    incoming.size_hint().exact().filter(|&exact| exact > 0).or_else(header)
}
