//! Streams end when the token of whoever reads them does.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::Response;
use futures_util::StreamExt as _;

use super::authenticate::Known;
use super::tokens::Credential;
use crate::daemon::Daemon;

/// How often it is looked whether the token of a stream still holds.
const LOOKED: Duration = Duration::from_millis(500);

/// The same answer; a stream of events in it breaks off within a second after its token was revoked or has expired.
pub(super) fn while_it_holds(
    daemon: &Daemon,
    known: Option<Known>,
    response: Response,
) -> Response {
    let credential = known.and_then(|known| known.credential);
    let Some(credential @ Credential::Stored(_)) = credential else { return response };
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        return response;
    }
    let daemon = daemon.clone();
    let ended = async move {
        loop {
            tokio::time::sleep(LOOKED).await;
            // A store that does not answer says nothing about the token.
            if let Ok(None) = daemon.door().tokens.principal(&credential).await {
                return;
            }
        }
    };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(ended))))
}
