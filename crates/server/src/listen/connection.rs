//! One connection: HTTP/1.1 with a bounded head, limited by admission, shut down gracefully when
//! the daemon stops.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use toolcrib_core::CancellationToken;
use tower::Service as _;

use super::body_timeout::TimeoutBody;
use super::framing::{FramedStream, Framing};
use crate::admission::{Admission, ConnectionPermit, is_exempt};
use crate::peer::Peer;

/// Maximum number of bytes of a request head.
pub(super) const HEAD_BYTES: usize = 32 * 1024;
/// Maximum number of headers of a request.
pub(super) const HEADERS: usize = 64;

/// State that all connections share.
pub(super) struct HttpSettings {
    pub(super) router: Router,
    pub(super) admission: Arc<Admission>,
    pub(super) head_timeout: Duration,
    pub(super) body_idle_timeout: Duration,
    pub(super) shutdown: CancellationToken,
}

/// A connection, with the right to keep it open.
pub(super) struct ConnectionContext {
    pub(super) http: Arc<HttpSettings>,
    pub(super) peer: Peer,
    pub(super) permit: ConnectionPermit,
}

/// Serves a connection until either side ends it. A half-closed connection ends too: the calls that
/// it started continue and are found by their ids.
pub(super) async fn serve(
    context: ConnectionContext,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) {
    let ConnectionContext { http, peer, permit } = context;
    let (shared, in_request) = (Arc::clone(&http), permit.clone());
    let framing = Framing::default();
    let stream = FramedStream::new(stream, framing.clone());
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(|body| match body.is_end_stream() {
            true => axum::body::Body::empty(),
            false => axum::body::Body::new(TimeoutBody::new(body, shared.body_idle_timeout)),
        });
        request.extensions_mut().insert(framing.clone());
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(in_request.clone());
        let queue = shared.admission.requests.queue_key(&peer, &in_request, &request);
        let http = Arc::clone(&shared);
        async move {
            let mut router = http.router.clone();
            if is_exempt(&request) {
                return router.call(request).await;
            }
            let answer = |permit| {
                request.extensions_mut().insert(permit);
                router.call(request)
            };
            http.admission.requests.admit(&queue, answer).await
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(http.head_timeout)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return log(ended),
        () = permit.evicted() => return,
        () = http.shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        ended = connection => log(ended),
        () = permit.evicted() => {}
    }
}

fn log(ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended with an error");
    }
}
