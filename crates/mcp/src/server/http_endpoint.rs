//! HTTP endpoint of the MCP server: all protocol revisions at one URL.

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use http_body_util::combinators::BoxBody;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::{McpServer, http_fast_path};

/// The endpoint. Clones share it.
#[derive(Clone)]
pub struct Service {
    library: StreamableHttpService<McpServer, LocalSessionManager>,
    serve: McpServer,
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
    let sessions = Arc::new(LocalSessionManager::default());
    let own = serve.clone();
    let library = StreamableHttpService::new(move || Ok(own.clone()), sessions, config);
    Service { library, serve, body_bytes: settings.body_bytes as u64, hosts }
}

impl Service {
    /// Whether the `Host` header is certainly accepted. In doubt, rmcp checks it.
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
            return self.library.handle(request).await;
        }
        match http_fast_path::handle(&self.serve, request).await {
            Ok(answer) => answer,
            Err(request) => self.library.handle(request).await,
        }
    }
}
