//! The endpoint over HTTP: all revisions at one address.

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::Serve;

/// What answers requests: a service of `tower`.
pub type Service = StreamableHttpService<Serve, LocalSessionManager>;

/// How the endpoint behaves.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// Names that a request may ask for in `Host`; empty = whoever stands in front has looked.
    pub hosts: Vec<String>,
    /// Longest request in bytes.
    pub body_bytes: usize,
    /// Cancelled when the program ends.
    pub stop: CancellationToken,
}

/// The endpoint of this server.
#[must_use]
pub fn service(serve: Serve, settings: HttpSettings) -> Service {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(settings.hosts)
        .with_sse_keep_alive(Some(Duration::from_secs(15)))
        .with_max_request_body_bytes(settings.body_bytes)
        .with_cancellation_token(settings.stop);
    let sessions = Arc::new(LocalSessionManager::default());
    StreamableHttpService::new(move || Ok(serve.clone()), sessions, config)
}
