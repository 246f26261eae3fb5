//! Streams and downloads end when the token or the session of whoever reads them does.

use std::io;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::header;
use axum::response::Response;
use futures_util::{StreamExt as _, stream};

use super::authenticate::Known;
use super::tokens::Credential;
use crate::daemon::Daemon;

/// How often it is looked whether whoever reads a stream still may.
const LOOKED: Duration = Duration::from_millis(500);

/// The same answer; one that comes piece by piece breaks off within a second after its token was revoked or has expired, or its page has
/// logged out. A stream of events just ends; anything else ends with an error, so that nobody takes a part of it for the whole.
pub(super) fn while_it_holds(
    daemon: &Daemon,
    known: Option<Known>,
    response: Response,
) -> Response {
    let Some(known) = known.filter(can_end) else { return response };
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_events = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
    let ended = Box::pin(ended(daemon.clone(), known));
    response.map(|body| {
        let pieces =
            stream::unfold(Some((body.into_data_stream(), ended)), move |state| async move {
                let (mut pieces, mut ended) = state?;
                tokio::select! {
                    biased;
                    () = &mut ended => {
                        let words = io::Error::other("the token does not hold any more");
                        (!is_events).then(|| (Err(axum::Error::new(words)), None))
                    }
                    piece = pieces.next() => piece.map(|piece| (piece, Some((pieces, ended)))),
                }
            });
        Body::from_stream(pieces)
    })
}

/// The token of the machine and processes on the socket stay.
fn can_end(known: &Known) -> bool {
    known.session.is_some() || matches!(known.credential, Some(Credential::Stored(_)))
}

/// Resolves when whoever this is may not read any more.
async fn ended(daemon: Daemon, known: Known) {
    let door = daemon.door();
    loop {
        tokio::time::sleep(LOOKED).await;
        if known.session.as_ref().is_some_and(|session| !door.sessions.holds(session)) {
            return;
        }
        if let Some(credential) = &known.credential
            // A store that does not answer says nothing about the token.
            && let Ok(None) = door.tokens.principal(credential).await
        {
            return;
        }
    }
}
