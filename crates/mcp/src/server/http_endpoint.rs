//! HTTP endpoint of the MCP server: all protocol revisions at one URL.

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::http_sessions::HttpSessions;
use super::{McpServer, http_fast_path};

/// The endpoint. Clones share it.
#[derive(Clone)]
pub struct Service {
    library: StreamableHttpService<McpServer, LocalSessionManager>,
    serve: McpServer,
    sessions: HttpSessions,
    body_bytes: u64,
    hosts: Arc<[String]>,
}

/// Settings of the endpoint.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// Accepted values of `Host`; empty if an outer layer has checked it.
    pub hosts: Vec<String>,
    /// Largest request body, in bytes.
    pub body_bytes: usize,
    /// Cancelled when the process shuts down.
    pub stop: CancellationToken,
}

/// Creates the endpoint of this server.
#[must_use]
pub fn service(serve: McpServer, settings: HttpSettings) -> Service {
    let hosts = settings.hosts.clone().into();
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(settings.hosts)
        .with_sse_keep_alive(Some(Duration::from_secs(15)))
        // A stream is opened only if there are messages before the response.
        .with_json_response(true)
        .with_max_request_body_bytes(settings.body_bytes)
        .with_cancellation_token(settings.stop);
    let sessions = HttpSessions::default();
    let (own, manager) = (serve.clone(), Arc::clone(&sessions.manager));
    let library = StreamableHttpService::new(move || Ok(own.clone()), manager, config);
    Service { library, serve, sessions, body_bytes: settings.body_bytes as u64, hosts }
}

impl Service {
    /// Returns whether the `Host` header is certainly accepted. If not, rmcp checks it.
    fn is_meant(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let name = host.map(|host| host.rsplit_once(':').map_or(host, |(name, _)| name));
        self.hosts.is_empty()
            || (!headers.contains_key(header::ORIGIN)
                && name.is_some_and(|name| self.hosts.iter().any(|own| own == name)))
    }

    /// Handles a request. Dropping the future cancels its work.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<BoxBody<Bytes, Infallible>>
    where
        B: http_body::Body + Send + 'static,
        B::Error: Display,
    {
        let length = request.body().size_hint().upper();
        let fits = length.is_some_and(|length| length <= self.body_bytes);
        if !(fits && http_fast_path::is_candidate(&request) && self.is_meant(request.headers())) {
            return self.handle_in_session(request).await;
        }
        match http_fast_path::handle(&self.serve, request).await {
            Ok(answer) => answer,
            Err(request) => self.handle_in_session(request).await,
        }
    }

    /// Passes a request to rmcp if its session belongs to its client, and assigns a session that it
    /// creates.
    async fn handle_in_session<B>(
        &self,
        request: Request<B>,
    ) -> Response<BoxBody<Bytes, Infallible>>
    where
        B: http_body::Body + Send + 'static,
        B::Error: Display,
    {
        let client = match self.serve.backend().identify(Some(request.extensions())) {
            Ok(who) => who.client,
            Err(why) => return refuse(StatusCode::UNAUTHORIZED, why),
        };
        if request.headers().contains_key(SESSION_ID) {
            let id = session_id(request.headers()).filter(|id| self.sessions.touch(id, &client));
            let Some(id) = id.map(ToOwned::to_owned) else {
                let why = "Not Found: Session not found".to_owned();
                return refuse(StatusCode::NOT_FOUND, why);
            };
            let ends = request.method() == Method::DELETE;
            let mut response = self.library.handle(request).await;
            if ends && response.status().is_success() {
                self.sessions.remove(&id);
                // Replace rmcp's 202, because nothing continues after this response.
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            return response;
        }
        let response = self.library.handle(request).await;
        if let Some(id) = session_id(response.headers()) {
            self.sessions.add(id, &client).await;
        }
        response
    }
}

/// The header of the session id.
const SESSION_ID: &str = "mcp-session-id";

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok()
}

fn refuse(status: StatusCode, why: String) -> Response<BoxBody<Bytes, Infallible>> {
    let mut refused = Response::new(Full::new(Bytes::from(why)).boxed());
    *refused.status_mut() = status;
    refused
}
