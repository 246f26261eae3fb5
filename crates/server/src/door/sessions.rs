//! Sessions of the page: a token is exchanged once for a cookie, so that no script of the page keeps one.
//!
//! A cookie is sent by the browser whoever asks, so that it counts for less than a token: only together with the origin that it was made
//! for, and what changes something only with a word that the page alone was told. Sessions end with the daemon.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use subtle::ConstantTimeEq as _;
use toolcrib_app::core::TokenHash;

use super::sent_here::{Site, one};
use super::token_text::{self, NoRandom};
use super::tokens::Credential;
use crate::problem::{Code, Problem};

/// Name of the cookie.
pub(crate) const COOKIE: &str = "toolcrib_session";
/// The header with the word that the page was told; a page of another origin cannot send it.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-toolcrib-session");
/// Sessions at once; the one that ends first makes room.
const KEPT: usize = 1_000;

/// A session as the page is told of it.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// Whose token it was made of.
    pub(crate) credential: Credential,
    /// The word for [`HEADER`].
    pub(crate) word: String,
    /// Scheme, host and port of its page.
    origin: String,
    ends: Instant,
}

impl Session {
    /// Seconds that are left.
    pub(crate) fn seconds_left(&self) -> u64 {
        self.ends.saturating_duration_since(Instant::now()).as_secs()
    }
}

/// Which session it is: the hash of its cookie.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionId(TokenHash);

impl SessionId {
    fn of(cookie: &str) -> Self {
        Self(TokenHash::of(cookie))
    }
}

/// Sessions by their cookie.
pub(crate) struct Sessions {
    lasts: Duration,
    by_cookie: Mutex<HashMap<SessionId, Session>>,
}

impl Sessions {
    /// Sessions that last this long.
    pub(super) fn lasting(lasts: Duration) -> Self {
        Self { lasts, by_cookie: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Session>> {
        self.by_cookie.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins one for the page of this origin, and says the value of its `Set-Cookie`.
    pub(crate) fn begin(
        &self,
        credential: Credential,
        site: &Site,
    ) -> Result<(Session, String), NoRandom> {
        let (cookie, word) = (token_text::random::<32>()?, token_text::random::<16>()?);
        let (origin, ends) = (site.origin.clone(), Instant::now() + self.lasts);
        let session = Session { credential, word, origin, ends };
        let mut sessions = self.lock();
        sessions.retain(|_, session| session.ends > Instant::now());
        if sessions.len() >= KEPT {
            let first = sessions.iter().min_by_key(|(_, session)| session.ends);
            let first = first.map(|(cookie, _)| cookie.clone());
            first.and_then(|first| sessions.remove(&first));
        }
        sessions.insert(SessionId::of(&cookie), session.clone());
        let header = set_cookie(&cookie, self.lasts.as_secs(), site.is_secure);
        Ok((session, header))
    }

    /// Ends the session of these headers, and says the value of the `Set-Cookie` that takes the cookie away.
    pub(crate) fn end(&self, headers: &HeaderMap, site: &Site) -> String {
        if let Some(cookie) = cookie(headers) {
            self.lock().remove(&SessionId::of(cookie));
        }
        set_cookie("", 0, site.is_secure)
    }

    /// The session whose cookie is in these headers, to be shown to its own page.
    pub(crate) fn shown(&self, headers: &HeaderMap, site: &Site) -> Option<Session> {
        let found = self.living(&SessionId::of(cookie(headers)?));
        found.filter(|session| session.origin == site.origin)
    }

    /// Whether it has neither ended nor been logged out of.
    pub(super) fn holds(&self, id: &SessionId) -> bool {
        self.living(id).is_some()
    }

    fn living(&self, id: &SessionId) -> Option<Session> {
        let found = self.lock().get(id).cloned();
        found.filter(|session| session.ends > Instant::now())
    }

    /// The session of a request, if it came from the session's own page.
    ///
    /// # Errors
    /// `forbidden` when somebody else's page may have sent it.
    pub(crate) fn of_request(
        &self,
        method: &Method,
        headers: &HeaderMap,
        site: &Site,
    ) -> Result<Option<(SessionId, Session)>, Problem> {
        let Some(id) = cookie(headers).map(SessionId::of) else { return Ok(None) };
        let Some(session) = self.living(&id) else { return Ok(None) };
        let by_its_page = session.origin == site.origin && session.may(method, headers)?;
        if by_its_page {
            return Ok(Some((id, session)));
        }
        Err(Problem::new(
            Code::Forbidden,
            "the session counts for its own page only: send `X-Toolcrib-Session` with what changes something",
        ))
    }
}

impl Session {
    /// What reads must at least be said by the browser to come from this origin; what changes something brings the word, which no other
    /// page can send, and its origin, which no page can forge.
    fn may(&self, method: &Method, headers: &HeaderMap) -> Result<bool, Problem> {
        let origin = one(headers, &header::ORIGIN)?;
        if [Method::GET, Method::HEAD].contains(method) {
            let fetch_site = one(headers, &super::sent_here::FETCH_SITE)?;
            return Ok(fetch_site.is_some() && origin.is_none_or(|origin| origin == self.origin));
        }
        let word = one(headers, &HEADER)?.unwrap_or_default();
        let has_word = bool::from(word.as_bytes().ct_eq(self.word.as_bytes()));
        Ok(has_word && origin.is_some_and(|origin| origin == self.origin))
    }
}

/// The value of our cookie; of several with its name the first, which the browser sends first for being the more exact.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == COOKIE).map(|(_, value)| value.trim())
}

fn set_cookie(value: &str, seconds: u64, is_secure: bool) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

/// A `Set-Cookie` header; what was made here is always one.
pub(crate) fn cookie_header(value: &str) -> HeaderValue {
    HeaderValue::from_str(value).unwrap_or_else(|_| HeaderValue::from_static(""))
}
