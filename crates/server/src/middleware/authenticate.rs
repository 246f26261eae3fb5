//! Authentication: by a token in `Authorization`, by the session of the page, or as a process of
//! this user on the unix socket.

use axum::extract::Request;
use axum::http::header;

use super::browser_sessions::{BrowserSessions, SessionId};
use super::host_origin::{RequestOrigin, single_header};
use super::token_cache::{self, Credential, TokenCache};
use crate::peer::Peer;
use crate::problem::{Code, Problem};
use crate::role::Principal;

/// The credential of a request.
pub(super) enum RequestCredential {
    Token(String),
    Session(SessionId, Credential),
    /// A connection on the socket; the kernel reports its process.
    Process,
    Nothing,
}

/// The principal of a request, and how it was authenticated.
#[derive(Debug, Clone)]
pub(crate) struct Authenticated {
    pub(crate) principal: Principal,
    /// `None` for the socket without a token.
    pub(crate) credential: Option<Credential>,
    /// The session; `None` if the request contains the token itself.
    pub(crate) session: Option<SessionId>,
}

/// Returns the credential of a request. A token has precedence over a session, and both over the
/// socket: a client that sends one wants to act as that principal.
pub(super) fn extract_credential(
    sessions: &BrowserSessions,
    request: &Request,
    origin: &RequestOrigin,
) -> Result<RequestCredential, Problem> {
    let headers = request.headers();
    if let Some(authorization) = single_header(headers, &header::AUTHORIZATION)? {
        let (scheme, token) = authorization.split_once(' ').unwrap_or((authorization, ""));
        return match scheme.eq_ignore_ascii_case("bearer") {
            true => Ok(RequestCredential::Token(token.trim().to_owned())),
            false => Err(Problem::new(Code::Unauthorized, "send `Authorization: Bearer TOKEN`")),
        };
    }
    if matches!(request.extensions().get(), Some(Peer::Unix { .. })) {
        return Ok(RequestCredential::Process);
    }
    let session = sessions.authenticate(request.method(), headers, origin)?;
    Ok(session.map_or(RequestCredential::Nothing, |(id, session)| {
        RequestCredential::Session(id, session.credential)
    }))
}

/// Returns the principal of a credential; `Ok(None)` if there is no credential.
///
/// # Errors
/// `unauthorized` if the credential is not valid.
pub(super) async fn authenticate(
    tokens: &TokenCache,
    credential: RequestCredential,
) -> Result<Option<Authenticated>, Problem> {
    let found = match credential {
        RequestCredential::Nothing => return Ok(None),
        RequestCredential::Process => {
            let principal = token_cache::local_principal("owner@socket");
            return Ok(Some(Authenticated { principal, credential: None, session: None }));
        }
        RequestCredential::Token(token) => {
            let found = tokens.authenticate(&token).await?;
            found.map(|(credential, principal)| (credential, principal, None))
        }
        RequestCredential::Session(id, credential) => {
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
            "the token is not valid: it is mistyped, expired, revoked or of another daemon",
        ));
    };
    Ok(Some(Authenticated { principal, credential: Some(credential), session }))
}
