//! Sessions of the page: a token is exchanged once for a cookie, so that no script of the page can
//! read the token.
//!
//! The browser sends a cookie with the requests of any page, so a cookie is valid only together
//! with the origin that it was created for, and a request that changes something also needs a CSRF
//! token, which only the page knows: only the response that creates the session contains it. A
//! copied cookie alone therefore neither reads nor changes anything. Sessions survive a restart of
//! the daemon: their file contains only hashes, so that a reader of the file cannot use a session.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use toolcrib_core::TokenHash;

use super::host_origin::{RequestOrigin, single_header};
use super::session_file::SessionFile;
use super::token_cache::Credential;
use super::token_format::{self, RandomUnavailable};
use crate::problem::{Code, Problem};

/// Name of the cookie, before the suffix with the port of its daemon.
const SESSION_COOKIE: &str = "toolcrib_session";
/// The header of the CSRF token; a page of another origin cannot send it.
pub(crate) const CSRF_HEADER: HeaderName = HeaderName::from_static("x-toolcrib-session");
/// Maximum number of sessions of one token; beyond that, the session of this token that ends first
/// is removed. Sessions of other tokens stay, and only owners create tokens.
const MAX_SESSIONS_PER_TOKEN: usize = 20;

/// A session of the page.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BrowserSession {
    /// The token that created the session.
    pub(crate) credential: Credential,
    /// Hash of the value of [`CSRF_HEADER`].
    csrf_token: TokenHash,
    /// Scheme, host and port of the page.
    origin: String,
    /// End in milliseconds since 1970, because a session outlives the process.
    ends_at: i64,
}

impl BrowserSession {
    /// Returns the seconds until the session ends.
    pub(crate) fn seconds_left(&self) -> u64 {
        u64::try_from(self.ends_at.saturating_sub(now_ms())).unwrap_or(0) / 1_000
    }

    fn is_over(&self) -> bool {
        self.ends_at <= now_ms()
    }
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// The secrets of a new session, which only the response that creates the session contains.
pub(crate) struct NewSession {
    /// The session.
    pub(crate) session: BrowserSession,
    /// The value of [`CSRF_HEADER`].
    pub(crate) csrf_token: String,
    /// The value of `Set-Cookie`.
    pub(crate) cookie: String,
}

/// The id of a session: the hash of its cookie.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SessionId(TokenHash);

impl SessionId {
    fn from_cookie(cookie: &str) -> Self {
        Self(TokenHash::from_token(cookie))
    }
}

/// Sessions by their cookie.
pub(crate) struct BrowserSessions {
    lifetime: Duration,
    file: SessionFile,
    by_cookie: Mutex<HashMap<SessionId, BrowserSession>>,
}

impl BrowserSessions {
    /// Loads the sessions of this file; new ones get this lifetime.
    pub(super) fn load(lifetime: Duration, file: SessionFile) -> Self {
        let mut kept = file.read();
        kept.retain(|_, session| !session.is_over());
        Self { lifetime, file, by_cookie: Mutex::new(kept) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, BrowserSession>> {
        self.by_cookie.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a session for the page of this origin.
    pub(crate) fn begin(
        &self,
        credential: Credential,
        origin: &RequestOrigin,
    ) -> Result<NewSession, RandomUnavailable> {
        let cookie = token_format::random_base64::<32>()?;
        let csrf_token = token_format::random_base64::<16>()?;
        let session_credential = credential.clone();
        let lifetime_ms = i64::try_from(self.lifetime.as_millis()).unwrap_or(i64::MAX);
        let session = BrowserSession {
            credential,
            csrf_token: TokenHash::from_token(&csrf_token),
            origin: origin.origin.clone(),
            ends_at: now_ms().saturating_add(lifetime_ms),
        };
        let mut sessions = self.lock();
        sessions.retain(|_, session| !session.is_over());
        let same_token = |session: &BrowserSession| session.credential == session_credential;
        if sessions.values().filter(|one| same_token(one)).count() >= MAX_SESSIONS_PER_TOKEN {
            let first = sessions.iter().filter(|(_, one)| same_token(one));
            let first = first.min_by_key(|(_, one)| one.ends_at).map(|(cookie, _)| cookie.clone());
            first.and_then(|first| sessions.remove(&first));
        }
        sessions.insert(SessionId::from_cookie(&cookie), session.clone());
        self.file.write(&sessions);
        let cookie = set_cookie(&cookie, self.lifetime.as_secs(), origin);
        Ok(NewSession { session, csrf_token, cookie })
    }

    /// Ends the session of these headers; returns the `Set-Cookie` value that removes the cookie.
    pub(crate) fn end(&self, headers: &HeaderMap, origin: &RequestOrigin) -> String {
        if let Some(cookie) = cookie(headers, origin) {
            let mut sessions = self.lock();
            if sessions.remove(&SessionId::from_cookie(cookie)).is_some() {
                self.file.write(&sessions);
            }
        }
        set_cookie("", 0, origin)
    }

    /// Returns the session of these headers, to be shown to its own page.
    pub(crate) fn for_display(
        &self,
        headers: &HeaderMap,
        origin: &RequestOrigin,
    ) -> Option<BrowserSession> {
        let found = self.get_valid(&SessionId::from_cookie(cookie(headers, origin)?));
        found.filter(|session| session.origin == origin.origin)
    }

    /// Returns whether a session has neither expired nor been ended.
    pub(super) fn is_valid(&self, id: &SessionId) -> bool {
        self.get_valid(id).is_some()
    }

    fn get_valid(&self, id: &SessionId) -> Option<BrowserSession> {
        let found = self.lock().get(id).cloned();
        found.filter(|session| !session.is_over())
    }

    /// Returns the session of a request that its own page sent.
    ///
    /// # Errors
    /// `forbidden` if another page may have sent the request.
    pub(crate) fn authenticate(
        &self,
        method: &Method,
        headers: &HeaderMap,
        origin: &RequestOrigin,
    ) -> Result<Option<(SessionId, BrowserSession)>, Problem> {
        let Some(id) = cookie(headers, origin).map(SessionId::from_cookie) else {
            return Ok(None);
        };
        let Some(session) = self.get_valid(&id) else { return Ok(None) };
        let by_its_page = session.origin == origin.origin && session.check_csrf(method, headers)?;
        if by_its_page {
            return Ok(Some((id, session)));
        }
        Err(Problem::new(
            Code::Forbidden,
            "the session is valid for its own page only: send `X-Toolcrib-Session` with requests that change something",
        ))
    }
}

impl BrowserSession {
    /// Checks which page sent a request. A reading request needs the Fetch Metadata of a browser;
    /// `host_origin` has checked their value. A changing request needs the CSRF token, which no
    /// other page can send, and the Origin, which no page can forge.
    fn check_csrf(&self, method: &Method, headers: &HeaderMap) -> Result<bool, Problem> {
        let origin = single_header(headers, &header::ORIGIN)?;
        if [Method::GET, Method::HEAD].contains(method) {
            let fetch_site = single_header(headers, &super::host_origin::FETCH_SITE)?;
            return Ok(fetch_site.is_some() && origin.is_none_or(|origin| origin == self.origin));
        }
        let token = single_header(headers, &CSRF_HEADER)?.unwrap_or_default();
        let token = TokenHash::from_token(token);
        let has_token =
            bool::from(token.as_str().as_bytes().ct_eq(self.csrf_token.as_str().as_bytes()));
        Ok(has_token && origin.is_some_and(|origin| origin == self.origin))
    }
}

/// Returns the name of the cookie of a daemon. Browsers send a cookie to every port of its host
/// (RFC 6265 section 8.5), so without the port in the name, the page of a second daemon on one
/// machine would replace the session of the first.
fn cookie_name(origin: &RequestOrigin) -> String {
    let (_, authority) = origin.origin.rsplit_once('/').unwrap_or(("", &origin.origin));
    // The last colon of `[::1]` does not precede a port.
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    match port.filter(|port| port.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(port) => format!("{SESSION_COOKIE}_{port}"),
        None => SESSION_COOKIE.to_owned(),
    }
}

/// Returns the value of the session cookie. If there are several, the first one applies: browsers
/// send the most specific path first.
fn cookie<'h>(headers: &'h HeaderMap, origin: &RequestOrigin) -> Option<&'h str> {
    let wanted = cookie_name(origin);
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == wanted).map(|(_, value)| value.trim())
}

fn set_cookie(value: &str, seconds: u64, origin: &RequestOrigin) -> String {
    let name = cookie_name(origin);
    let secure = if origin.is_secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

/// Builds a `Set-Cookie` header; values of this file are always valid.
pub(crate) fn cookie_header(value: &str) -> HeaderValue {
    HeaderValue::from_str(value).unwrap_or_else(|_| HeaderValue::from_static(""))
}
