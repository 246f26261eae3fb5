//! The session of the page: identifies the principal, exchanges a token or a code for a cookie, and
//! logs out.

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{Api, Json, Operation};
use crate::middleware::browser_sessions::cookie_header;
use crate::middleware::{Authenticated, CODE_LIFETIME, Credential, RequestOrigin};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// The principal of the request, and its roles.
#[derive(Debug, Serialize, JsonSchema)]
struct Session {
    /// Name of the principal in records.
    name: String,
    /// Owner of the rows that it reads and writes; empty = the owner of this daemon.
    owner: String,
    /// Its roles.
    roles: Vec<Role>,
    /// Names or globs of the tools that it may call; absent = all in view.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<String>>,
    /// When its token expires, in milliseconds since 1970; absent = never.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
    /// Only in the response that creates a session: the value of the header `X-Toolcrib-Session`
    /// for requests that change something. The page stores it.
    #[serde(skip_serializing_if = "Option::is_none")]
    word: Option<String>,
    /// Seconds until the session ends; absent without a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_left: Option<u64>,
}

/// A code with which a browser signs in.
#[derive(Debug, Serialize, JsonSchema)]
struct SignInCode {
    /// The code; the page takes it from the fragment of its address, `#code=…`.
    code: String,
    /// Seconds until it expires.
    seconds: u64,
}

/// Signs a browser in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SignIn {
    /// The code.
    code: String,
}

pub(super) fn routes(api: &mut Api) {
    let show = Operation::get(
        "/session",
        Role::Viewer,
        "Shows the principal of the request and its roles.",
    );
    api.add(show.returns_ok::<Session>("By token, by session, or on the socket."), self::show);
    let begin =
        Operation::post("/session", Role::Viewer, "Exchanges a token for the cookie of the page.");
    let begin = begin.description(
        "The cookie is `HttpOnly` and `SameSite=Strict`, and counts for the page of the origin that it was made for. What changes something \
         needs the header `X-Toolcrib-Session` with the word of this answer as well, which no other answer has: the page keeps it. The session ends with its token or with its time; a restart of the daemon keeps it.",
    );
    api.add(begin.returns::<Session>(201, "The session has started."), self::begin);
    let code = Operation::post(
        "/session/code",
        Role::Viewer,
        "Makes a code with which a browser signs in once, as the principal of this request.",
    );
    let code = code.description("`toolcrib open` puts it into the fragment of the address that it opens, which no server and no log sees.");
    api.add(code.returns::<SignInCode>(201, "The code."), make_code);
    let sign_in =
        Operation::post("/session/sign-in", Role::Viewer, "Exchanges a code for the cookie.");
    let sign_in = sign_in.public().body::<SignIn>().description(
        "The answer is that of `POST /session`. A code is valid for one minute and one use.",
    );
    api.add(sign_in.returns::<Session>(201, "The session has started."), self::sign_in);
    let end = Operation::delete("/session", Role::Viewer, "Logs the page out.");
    api.add(end.returns_empty(204, "The cookie is no longer valid."), self::end);
}

fn session(principal: &Principal) -> Session {
    Session {
        name: principal.name.clone(),
        owner: principal.owner.clone(),
        roles: principal.roles.list(),
        tools: principal.tools.clone(),
        expires_at: principal.expires_at,
        word: None,
        seconds_left: None,
    }
}

async fn show(
    State(daemon): State<DaemonState>,
    Extension(known): Extension<Authenticated>,
    Extension(site): Extension<RequestOrigin>,
    headers: HeaderMap,
) -> Json<Session> {
    let by_cookie = !headers.contains_key(header::AUTHORIZATION);
    let mine =
        by_cookie.then(|| daemon.middleware().sessions.for_display(&headers, &site)).flatten();
    // Never return the CSRF token: a program that has copied the cookie can send every header that
    // a browser sends.
    let seconds_left = mine.map(|own| own.seconds_left());
    Json(Session { seconds_left, ..session(&known.principal) })
}

async fn begin(
    State(daemon): State<DaemonState>,
    Extension(known): Extension<Authenticated>,
    Extension(site): Extension<RequestOrigin>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if !headers.contains_key(header::AUTHORIZATION) {
        // A session that could create another one would never end.
        let words =
            "a session is made of a token and not of a session: send `Authorization: Bearer TOKEN`";
        return Err(Problem::new(Code::Forbidden, words));
    }
    let Some(credential) = known.credential.clone().filter(|_| !site.origin.is_empty()) else {
        return Err(Problem::invalid("a session is for a page, which comes over TCP with a token"));
    };
    begin_session(&daemon, credential, &known.principal, &site)
}

/// Creates a session and responds with its cookie.
fn begin_session(
    daemon: &DaemonState,
    credential: Credential,
    principal: &Principal,
    site: &RequestOrigin,
) -> Result<Response, Problem> {
    let new = daemon
        .middleware()
        .sessions
        .begin(credential, site)
        .map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    let seconds_left = Some(new.session.seconds_left());
    let body = Json(Session { word: Some(new.csrf_token), seconds_left, ..session(principal) });
    let cookie = [(header::SET_COOKIE, cookie_header(&new.cookie))];
    Ok((StatusCode::CREATED, cookie, body).into_response())
}

async fn make_code(
    State(daemon): State<DaemonState>,
    Extension(known): Extension<Authenticated>,
) -> Result<(StatusCode, Json<SignInCode>), Problem> {
    if known.session.is_some() {
        let words = "a code is made by a token or on the socket, and not by a session";
        return Err(Problem::new(Code::Forbidden, words));
    }
    // Without a token, the principal is the owner's own process on the socket.
    let credential = known.credential.unwrap_or(Credential::Machine);
    let made = daemon.middleware().codes.make(credential);
    let code = made.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    Ok((StatusCode::CREATED, Json(SignInCode { code, seconds: CODE_LIFETIME.as_secs() })))
}

async fn sign_in(
    State(daemon): State<DaemonState>,
    Extension(site): Extension<RequestOrigin>,
    Json(body): Json<SignIn>,
) -> Result<Response, Problem> {
    if site.origin.is_empty() {
        return Err(Problem::invalid("a session is for a page, which comes over TCP"));
    }
    let middleware = daemon.middleware();
    let credential = middleware.codes.redeem(&body.code);
    let principal = match &credential {
        Some(credential) => middleware.tokens.principal(credential).await?,
        None => None,
    };
    if let (Some(credential), Some(principal)) = (credential, principal) {
        return begin_session(&daemon, credential, &principal, &site);
    }
    let words = "the code is used or too old; `toolcrib open` makes another";
    let problem = Problem::new(Code::Unauthorized, words);
    let Some(penalty) = middleware.admission.logins.record_failure(site.address) else {
        return Err(problem);
    };
    tokio::time::sleep(penalty.pause).await;
    Err(Problem::new(Code::RateLimited, words).retry_after(penalty.retry_after))
}

async fn end(
    State(daemon): State<DaemonState>,
    Extension(site): Extension<RequestOrigin>,
    headers: HeaderMap,
) -> Response {
    let cookie = cookie_header(&daemon.middleware().sessions.end(&headers, &site));
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}
