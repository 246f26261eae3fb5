//! Is a request meant for this daemon? Exact lists of hosts and origins, so that no page of somebody else reaches it by a name that it
//! bound to this address (DNS rebinding) or by the browser of a person (`research/reliability.md` 4.1).

use axum::extract::Request;
use axum::http::{HeaderValue, Method, header};

use crate::daemon::Daemon;
use crate::listen::Peer;
use crate::problem::{Code, Problem};

pub(super) fn check(daemon: &Daemon, request: &Request) -> Result<(), Problem> {
    let Some(Peer::Tcp { local, .. }) = request.extensions().get::<Peer>() else { return json(request) };
    let port = local.port();
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let listen = &daemon.settings().listen;
    let own = |name: &str| {
        ["localhost", "127.0.0.1", "[::1]"].iter().any(|own| name == format!("{own}:{port}"))
    };
    let is_here = |name: &str| own(name) || listen.hosts.iter().any(|host| host == name);
    if !host.is_some_and(is_here) {
        return Err(Problem::new(Code::Misdirected, "this daemon does not answer to that Host"));
    }
    if let Some(origin) = request.headers().get(header::ORIGIN) {
        let scheme = if listen.tls.is_some() { "https" } else { "http" };
        let its_own = |origin: &HeaderValue| {
            let origin = origin.to_str().unwrap_or_default();
            let host = host.unwrap_or_default();
            origin == format!("{scheme}://{host}") || listen.origins.iter().any(|one| one == origin)
        };
        if !its_own(origin) {
            return Err(Problem::new(Code::Misdirected, "this daemon does not answer to pages of that Origin"));
        }
    }
    json(request)
}

/// What changes something is JSON or bytes and never a form: a form is what any page can send.
fn json(request: &Request) -> Result<(), Problem> {
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    let length = request.headers().get(header::CONTENT_LENGTH);
    let has_body = length.is_some_and(|length| length != "0")
        || request.headers().contains_key(header::TRANSFER_ENCODING);
    if reads || !has_body {
        return Ok(());
    }
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if ["application/json", "application/octet-stream", "text/event-stream"].contains(&kind) {
        return Ok(());
    }
    Err(Problem::new(Code::UnsupportedMediaType, "send `Content-Type: application/json`"))
}
