//! Streamable HTTP transport on our HTTP client, which checks every address.
#![deny(clippy::indexing_slicing)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::inbound::stream_answers;
use super::oauth::{AuthError, RefreshResult, TokenManager};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use toolcrib_net::{
    Follow, Head, HttpClient, HttpError, Limits, Method, Request, StreamingResponse,
};

/// Maximum bytes of a response that is not a stream.
const JSON_BYTES: usize = 16 << 20;
/// Maximum bytes of a stream; it must then be reopened.
const STREAM_BYTES: usize = 1 << 30;
/// Maximum bytes of an error response.
const ERROR_BYTES: usize = 64 * 1024;
/// Retries with another token: one for an expired token, one for insufficient scope.
const RETRIES: usize = 2;
/// Longest duration of a stream.
const STREAM_TIME: Duration = Duration::from_secs(24 * 3600);

type Failed = StreamableHttpError<HttpError>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Transport to one server.
#[derive(Clone)]
pub(crate) struct HttpTransport {
    pub(crate) http: HttpClient,
    /// Manages the token to send; `None` if a configured header carries credentials.
    pub(crate) keeper: Option<Arc<TokenManager>>,
}

fn limits() -> Limits {
    Limits {
        total: STREAM_TIME,
        idle: None,
        max_wire_bytes: STREAM_BYTES,
        max_inflated_bytes: STREAM_BYTES,
        max_redirects: 0,
        ..Limits::default()
    }
}

fn request(
    method: Method,
    uri: &str,
    session: Option<&str>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> Request {
    let mut request = Request { follow: Follow::Never, ..Request::new(method, uri) };
    let mut add =
        |name: &str, value: &str| request.headers.push((name.to_owned(), value.to_owned()));
    add("accept", "application/json, text/event-stream");
    if let Some(session) = session {
        add("mcp-session-id", session);
    }
    for (name, value) in headers {
        if let Ok(value) = value.to_str() {
            add(name.as_str(), value);
        }
    }
    request
}

fn header<'a>(head: &'a Head, name: &str) -> Option<&'a str> {
    let found = head.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

fn is(head: &Head, media_type: &str) -> bool {
    let own = header(head, "content-type").unwrap_or_default();
    own.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(media_type)
}

/// Returns the `WWW-Authenticate` header of a response; empty if there is none.
fn challenge(head: &Head) -> &str {
    header(head, "www-authenticate").unwrap_or_default()
}

/// Creates the error for a response that requires another authorization.
fn login(head: &Head) -> Failed {
    let challenge = challenge(head).to_owned();
    match head.status {
        403 => StreamableHttpError::InsufficientScope(InsufficientScopeError::new(challenge, None)),
        _ => StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)),
    }
}

/// Creates the error for a missing token. The request was not sent.
fn unauthorized(error: AuthError) -> Failed {
    StreamableHttpError::Io(std::io::Error::other(error))
}

/// Runs work to its end, even if the call is cancelled: a rotated refresh token may be in transit.
async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, AuthError>> + Send + 'static,
) -> Result<T, Failed> {
    let done = tokio::spawn(work).await;
    done.map_err(|error| StreamableHttpError::Io(error.into()))?.map_err(unauthorized)
}

async fn body(streaming: &mut StreamingResponse, most: usize) -> Result<Vec<u8>, Failed> {
    let mut whole = Vec::new();
    while let Some(piece) = streaming.body.chunk().await.map_err(StreamableHttpError::Client)? {
        if whole.len() + piece.len() > most {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: most });
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}

/// Limits the size of one event, so that an endless one is not buffered.
#[derive(Default)]
struct EventSizeLimit {
    bytes: usize,
    /// Whether the current line is still empty.
    blank: bool,
}

impl EventSizeLimit {
    /// Returns whether an event is longer than `most`.
    fn is_beyond(&mut self, piece: &[u8], most: usize) -> bool {
        for &byte in piece {
            self.bytes += 1;
            match byte {
                b'\n' | b'\r' if self.blank => self.bytes = 0,
                b'\n' => self.blank = true,
                b'\r' => {}
                _ => self.blank = false,
            }
            if self.bytes > most {
                return true;
            }
        }
        false
    }
}

fn events(streaming: StreamingResponse, most: usize) -> Events {
    let open = Some((streaming, EventSizeLimit::default()));
    let pieces = futures_util::stream::unfold(open, move |open| async move {
        let (mut streaming, mut since) = open?;
        match streaming.body.chunk().await {
            Ok(Some(piece)) if since.is_beyond(&piece, most) => {
                let error = std::io::Error::other(format!("an event is longer than {most} bytes"));
                Some((Err(error), None))
            }
            Ok(Some(piece)) => Some((Ok::<Bytes, std::io::Error>(piece), Some((streaming, since)))),
            Ok(None) => None,
            Err(error) => Some((Err(std::io::Error::other(error)), None)),
        }
    });
    SseStream::from_bytes_stream(pieces).boxed()
}

fn protocol_error(words: impl Into<String>) -> Failed {
    StreamableHttpError::UnexpectedServerResponse(words.into().into())
}

impl HttpTransport {
    /// Sends a request with the current token. If the server rejects it because of the token, it
    /// did not process the request, which is then sent once more with a new token, if there is one.
    async fn send(&self, request: Request, limits: &Limits) -> Result<StreamingResponse, Failed> {
        let Some(keeper) = &self.keeper else {
            let sent = self.http.send(&request, limits).await;
            let streaming = sent.map_err(StreamableHttpError::Client)?;
            let wants = streaming.head.status == 401 && !challenge(&streaming.head).is_empty();
            return if wants { Err(login(&streaming.head)) } else { Ok(streaming) };
        };
        let own = Arc::clone(keeper);
        let mut token = to_its_end(async move { own.token().await }).await?;
        let mut tries = 0;
        loop {
            let mut request = request.clone();
            if let Some(token) = &token {
                request.headers.push(("authorization".to_owned(), format!("Bearer {token}")));
            }
            let sent = self.http.send(&request, limits).await;
            let streaming = sent.map_err(StreamableHttpError::Client)?;
            let head = &streaming.head;
            if !matches!(head.status, 401 | 403) {
                return Ok(streaming);
            }
            let (own, status, said) = (Arc::clone(keeper), head.status, challenge(head).to_owned());
            let used = token.take();
            let answer = async move { own.handle_challenge(status, &said, used.as_deref()).await };
            match to_its_end(answer).await? {
                RefreshResult::RetryWith(other) if tries < RETRIES => token = Some(other),
                RefreshResult::NotAuthorization => return Ok(streaming),
                RefreshResult::RetryWith(_) | RefreshResult::LoginRequired => {
                    return Err(login(head));
                }
            }
            tries += 1;
        }
    }

    async fn post(
        &self,
        uri: &str,
        message: ClientJsonRpcMessage,
        session: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
        most: usize,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let mut request = request(Method::POST, uri, session, headers);
        request.headers.push(("content-type".to_owned(), "application/json".to_owned()));
        request.body = serde_json::to_vec(&message)?.into();
        let mut streaming = self.send(request, &limits()).await?;
        let head = streaming.head.clone();
        let session_id = header(&head, "mcp-session-id").map(str::to_owned);
        match head.status {
            202 | 204 => return Ok(StreamableHttpPostResponse::Accepted),
            404 if session.is_some() => return Err(StreamableHttpError::SessionExpired),
            200..300 if is(&head, "text/event-stream") => {
                let events = events(streaming, most);
                let events = match message {
                    ClientJsonRpcMessage::Request(request) => {
                        stream_answers::readable(events, &request)
                    }
                    _ => events,
                };
                return Ok(StreamableHttpPostResponse::Sse(events, session_id));
            }
            200..300 => {
                let whole = body(&mut streaming, JSON_BYTES).await?;
                let ClientJsonRpcMessage::Request(request) = &message else {
                    return Ok(StreamableHttpPostResponse::Accepted);
                };
                let message = stream_answers::parse(&whole, request);
                return Ok(StreamableHttpPostResponse::Json(message, session_id));
            }
            _ => {}
        }
        self.no_success(streaming, message, session.is_some(), session_id).await
    }

    /// Converts an error response; uses the JSON-RPC error in it if there is one.
    async fn no_success(
        &self,
        mut streaming: StreamingResponse,
        message: ClientJsonRpcMessage,
        in_session: bool,
        session_id: Option<String>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let status = streaming.head.status;
        let words = match body(&mut streaming, ERROR_BYTES).await {
            Ok(words) => words,
            Err(StreamableHttpError::ResponseBodyTooLarge { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let told = match serde_json::from_slice::<ServerJsonRpcMessage>(&words) {
            Ok(told @ ServerJsonRpcMessage::Error(_)) if !matches!(status, 401 | 403) => Some(told),
            _ => None,
        };
        let ClientJsonRpcMessage::Request(request) = message else {
            return Err(protocol_error(format!("HTTP {status}")));
        };
        let discovers = matches!(request.request, rmcp::model::ClientRequest::DiscoverRequest(_));
        if discovers && !in_session && (400..500).contains(&status) && !matches!(status, 401 | 403)
        {
            // Old servers and proxies answer `server/discover` only with a plain HTTP error.
            let error = match told {
                Some(ServerJsonRpcMessage::Error(told)) => told.error,
                _ => ErrorData::invalid_request(format!("server/discover: HTTP {status}"), None),
            };
            let message = ServerJsonRpcMessage::error(error, Some(request.id));
            return Ok(StreamableHttpPostResponse::Json(message, None));
        }
        if let Some(told) = told {
            return Ok(StreamableHttpPostResponse::Json(told, session_id));
        }
        if status == 429 || status >= 500 {
            let retry = header(&streaming.head, "retry-after").map(str::to_owned);
            return Err(HttpStatusError::new(status, retry).into());
        }
        let words = String::from_utf8_lossy(&words).chars().take(200).collect::<String>();
        Err(protocol_error(format!("HTTP {status}: {words}")))
    }

    async fn stream(
        &self,
        uri: &str,
        session: Option<&str>,
        last_event_id: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        most: usize,
    ) -> Result<Events, Failed> {
        let mut request = request(Method::GET, uri, session, headers);
        if let Some(id) = last_event_id {
            request.headers.push(("last-event-id".to_owned(), id));
        }
        let streaming = self.send(request, &limits()).await?;
        match streaming.head.status {
            405 => Err(StreamableHttpError::ServerDoesNotSupportSse),
            200 if is(&streaming.head, "text/event-stream") => Ok(events(streaming, most)),
            200 => {
                let own = header(&streaming.head, "content-type").map(str::to_owned);
                Err(StreamableHttpError::UnexpectedContentType(own))
            }
            status @ (429 | 500..) => Err(HttpStatusError::new(status, None).into()),
            status => Err(protocol_error(format!("HTTP {status}"))),
        }
    }
}

impl StreamableHttpClient for HttpTransport {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let session = session_id.as_deref();
        self.post(&uri, message, session, custom_headers, JSON_BYTES).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let session = session_id.as_deref();
        self.post(&uri, message, session, custom_headers, max_sse_event_size).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let request = request(Method::DELETE, &uri, Some(&session_id), custom_headers);
        let limits = Limits { total: Duration::from_secs(3), ..limits() };
        self.send(request, &limits).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Failed> {
        let session = session_id.as_deref();
        self.stream(&uri, session, last_event_id, custom_headers, JSON_BYTES).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<Events, Failed> {
        let session = session_id.as_deref();
        self.stream(&uri, session, last_event_id, custom_headers, max_sse_event_size).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_event_without_an_end_is_too_long() {
        let check = |pieces: &[&str], beyond: bool| {
            let mut since = EventSizeLimit::default();
            let found = pieces.iter().any(|piece| since.is_beyond(piece.as_bytes(), 16));
            assert_eq!(found, beyond, "{pieces:?}");
        };
        check(&["data: aaaa\n\ndata: bbbb\n\n"], false);
        check(&["data: aaaa\r\n\r", "\ndata: bbbb\r\n\r\n"], false);
        check(&["data: aaaaa", "aaaaaa"], true);
        check(&["data: aaaa\n", "data: aaaa\n"], true);
    }
}
