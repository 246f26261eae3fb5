//! Who is it? By a token in `Authorization`, by the page's session, or by being a process of this user on the socket.

use axum::extract::Request;
use axum::http::header;

use super::sent_here::{Site, one};
use super::sessions::SessionId;
use super::tokens::{self, Credential};
use crate::daemon::Daemon;
use crate::listen::Peer;
use crate::problem::{Code, Problem};
use crate::role::Principal;

/// What a request brings to say who it is.
pub(super) enum Brought {
    Token(String),
    Session(SessionId, Credential),
    /// On the socket; the kernel says whose process it is.
    Process,
    Nothing,
}

/// Whoever sends a request, and by which token.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) principal: Principal,
    /// `None` = on the socket, without a token.
    pub(crate) credential: Option<Credential>,
    /// The session that stands for it; `None` = the token came itself.
    pub(crate) session: Option<SessionId>,
}

/// What a request brings. A token counts for more than a session, and both for more than the socket: whoever sends one wants to be that.
pub(super) fn brought(daemon: &Daemon, request: &Request, site: &Site) -> Result<Brought, Problem> {
    let headers = request.headers();
    if let Some(given) = one(headers, &header::AUTHORIZATION)? {
        let (scheme, token) = given.split_once(' ').unwrap_or((given, ""));
        return match scheme.eq_ignore_ascii_case("bearer") {
            true => Ok(Brought::Token(token.trim().to_owned())),
            false => Err(Problem::new(Code::Unauthorized, "send `Authorization: Bearer TOKEN`")),
        };
    }
    if matches!(request.extensions().get(), Some(Peer::Unix { .. })) {
        return Ok(Brought::Process);
    }
    let session = daemon.door().sessions.of_request(request.method(), headers, site)?;
    Ok(session.map_or(Brought::Nothing, |(id, session)| Brought::Session(id, session.credential)))
}

/// Who that is. `Ok(None)` = it brings nothing; `Err(Unauthorized)` = what it brings does not hold.
pub(super) async fn identify(daemon: &Daemon, brought: Brought) -> Result<Option<Known>, Problem> {
    let tokens = &daemon.door().tokens;
    let found = match brought {
        Brought::Nothing => return Ok(None),
        Brought::Process => {
            let principal = tokens::machine("owner@socket");
            return Ok(Some(Known { principal, credential: None, session: None }));
        }
        Brought::Token(token) => {
            let found = tokens.principal_of(&token).await?;
            found.map(|(credential, principal)| (credential, principal, None))
        }
        Brought::Session(id, credential) => {
            let principal = tokens.principal(&credential).await?;
            principal.map(|principal| {
                let client = format!("{} page", principal.client);
                (credential, Principal { client, ..principal }, Some(id))
            })
        }
    };
    let Some((credential, principal, session)) = found else {
        return Err(Problem::new(
            Code::Unauthorized,
            "the token does not hold: it is mistyped, expired, revoked or another daemon's",
        ));
    };
    Ok(Some(Known { principal, credential: Some(credential), session }))
}
