//! One connection: HTTP/1.1 with bounded heads, told to finish when the daemon stops.

use axum::Router;
use axum::extract::Request;
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tower::Service as _;

use super::crowd::Seat;
use super::slow_body::Timed;
use crate::daemon::Daemon;
use crate::door;
use crate::listen::Peer;

/// Bytes of a head.
const HEAD_BYTES: usize = 32 * 1024;
/// Headers of a request.
const HEADERS: usize = 64;

/// Whose connection it is.
pub(super) struct Guest {
    pub(super) daemon: Daemon,
    pub(super) peer: Peer,
    pub(super) seat: Seat,
    pub(super) router: Router,
}

/// Answers until either side ends it. A peer that closes its half is gone: what it started goes on and is fetched by its id.
pub(super) async fn serve(
    guest: Guest,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) {
    let Guest { daemon, peer, seat, router } = guest;
    let settings = daemon.settings();
    let (silence, in_request, host) = (settings.body_silence, seat.clone(), daemon.clone());
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(|body| match body.is_end_stream() {
            true => axum::body::Body::empty(),
            false => axum::body::Body::new(Timed::new(body, silence)),
        });
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(in_request.clone());
        let line = host.reception().line(&peer, &in_request, &request);
        let (host, is_urgent) = (host.clone(), door::is_urgent(&request));
        let answer = router.clone().call(request);
        async move {
            match is_urgent {
                true => answer.await,
                false => host.reception().receive(&line, answer).await,
            }
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.head_time)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return log(ended),
        () = seat.told_to_leave() => return,
        () = daemon.stopping().cancelled() => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        ended = connection => log(ended),
        () = seat.told_to_leave() => {}
    }
}

fn log(ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}
