//! Ends streams and downloads when the token or the session of their reader is revoked.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::header;
use axum::response::Response;
use futures_util::{StreamExt as _, stream};

use super::authenticate::Authenticated;
use super::middleware_state::MiddlewareState;
use super::token_cache::Credential;

/// Interval for checking whether the reader of a stream is still authorized.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Lets a streamed response end within a second after its token was revoked or has expired, or its
/// session has ended. An event stream ends normally; any other body ends with an error, so that a
/// client does not mistake the received part for the complete body.
pub(super) fn end_on_revocation(
    state: &Arc<MiddlewareState>,
    authenticated: Option<Authenticated>,
    response: Response,
) -> Response {
    let Some(known) = authenticated.filter(is_revocable) else { return response };
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_events = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
    let ended = Box::pin(revoked(Arc::clone(state), known));
    response.map(|body| {
        let pieces =
            stream::unfold(Some((body.into_data_stream(), ended)), move |state| async move {
                let (mut pieces, mut ended) = state?;
                tokio::select! {
                    biased;
                    () = &mut ended => {
                        let error = io::Error::other("the token is not valid any more");
                        (!is_events).then(|| (Err(axum::Error::new(error)), None))
                    }
                    piece = pieces.next() => piece.map(|piece| (piece, Some((pieces, ended)))),
                }
            });
        Body::from_stream(pieces)
    })
}

/// Returns whether the credential can be revoked. The token of the machine and processes on the
/// socket cannot.
fn is_revocable(known: &Authenticated) -> bool {
    known.session.is_some() || matches!(known.credential, Some(Credential::Stored(_)))
}

/// Resolves when the reader is no longer authorized.
async fn revoked(state: Arc<MiddlewareState>, known: Authenticated) {
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        if known.session.as_ref().is_some_and(|session| !state.sessions.is_valid(session)) {
            return;
        }
        if let Some(credential) = &known.credential
            // An error of the store does not mean that the token is revoked.
            && let Ok(None) = state.tokens.principal(credential).await
        {
            return;
        }
    }
}
