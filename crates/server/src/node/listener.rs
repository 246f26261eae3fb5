//! Connections of the daemon to a node: HTTP/1.1, a signature on each request and each answer.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, Response, StatusCode};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use toolcrib_core::{CancellationToken, Clock as _, SystemClock};
use toolcrib_devices::{
    InboundRequest, NONCE_HEADER, NodeRequests, SIGNATURE_HEADER, TIMESTAMP_HEADER,
};

use super::tools::NodeTools;

/// Maximum connections at once. The daemon uses one for each call and one for the health check.
const CONNECTIONS: usize = 64;
/// Maximum bytes of a body; arguments of a call have at most 1 MB.
const BODY_BYTES: usize = 2 << 20;
/// Time for the head of a request, and for its body.
const RECEIVE: Duration = Duration::from_secs(10);
/// Pause after an error of `accept`, such as too many open files.
const ACCEPT_ERROR_DELAY: Duration = Duration::from_millis(50);

/// A node that is paired with a daemon.
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its tools.
    pub tools: NodeTools,
    /// The requests of the daemon.
    pub requests: NodeRequests,
}

impl Node {
    /// Answers the daemon until it is told to stop. Calls that run then are cancelled with their
    /// connection.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        let node = Arc::new(self);
        let slots = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            let Some(stream) = accepted_stream(accepted).await else { continue };
            // A connection over the limit is closed; the daemon says that the node does not answer.
            let Ok(slot) = Arc::clone(&slots).try_acquire_owned() else { continue };
            let (node, stop) = (Arc::clone(&node), stop.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = node.serve_connection(stream) => {}
                }
                drop(slot);
            });
        }
    }

    async fn serve_connection(self: Arc<Self>, stream: TcpStream) {
        let service = service_fn(move |request| {
            let node = Arc::clone(&self);
            async move { Ok::<_, Infallible>(node.answer(request.map(Body::new)).await) }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(RECEIVE)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection of the daemon ended with an error");
        }
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = tokio::time::timeout(RECEIVE, to_bytes(body, BODY_BYTES)).await;
        let Ok(Ok(body)) = body else {
            let why = "the body is too large, or it did not arrive in time";
            return unsigned(StatusCode::BAD_REQUEST, why);
        };
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let nonce = header(&head.headers, NONCE_HEADER);
        let inbound = InboundRequest {
            method: head.method.as_str(),
            path,
            timestamp: header(&head.headers, TIMESTAMP_HEADER),
            nonce,
            signature: header(&head.headers, SIGNATURE_HEADER),
            body: &body,
        };
        if let Err(error) = self.requests.accept(&inbound, SystemClock.now_ms() / 1_000) {
            return unsigned(StatusCode::UNAUTHORIZED, &error.to_string());
        }
        let (status, answer) = self.handle(head.method.as_str(), path, &body).await;
        self.signed(status, nonce, &answer)
    }

    async fn handle(&self, method: &str, path: &str, body: &[u8]) -> (StatusCode, Value) {
        match (method, path) {
            ("GET", "/health") => {
                let version = env!("CARGO_PKG_VERSION");
                let health = json!({"status": "ok", "name": self.name, "version": version});
                (StatusCode::OK, health)
            }
            ("GET", "/capabilities") => (StatusCode::OK, self.tools.capabilities()),
            ("POST", "/execute") => match serde_json::from_slice(body) {
                Ok(execution) => (StatusCode::OK, self.tools.execute(execution).await),
                Err(error) => {
                    let why = format!("the body is not a call: {error}");
                    (StatusCode::BAD_REQUEST, json!({ "error": why }))
                }
            },
            _ => (StatusCode::NOT_FOUND, json!({ "error": "a node has no such path" })),
        }
    }

    fn signed(&self, status: StatusCode, nonce: &str, answer: &Value) -> Response<Body> {
        let body = answer.to_string();
        match self.requests.sign(status.as_u16(), nonce, body.as_bytes()) {
            Ok(signature) => {
                let mut response = respond(status, body);
                if let Ok(value) = signature.parse() {
                    response.headers_mut().insert(SIGNATURE_HEADER, value);
                }
                response
            }
            Err(error) => unsigned(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        }
    }
}

async fn accepted_stream<A>(accepted: io::Result<(TcpStream, A)>) -> Option<TcpStream> {
    match accepted {
        Ok((stream, _)) => Some(stream),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_ERROR_DELAY).await;
            None
        }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Answers a request that is not of the daemon.
fn unsigned(status: StatusCode, why: &str) -> Response<Body> {
    respond(status, json!({ "error": why }).to_string())
}

fn respond(status: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let json = axum::http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(axum::http::header::CONTENT_TYPE, json);
    response
}
