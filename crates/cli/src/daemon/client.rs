//! Asking a daemon: over its socket, or, where `TOOLCRIB_DAEMON` names one elsewhere, over the network.

mod far;
mod near;

use serde::Deserialize;
use serde_json::Value;
use toolcrib_app::net::Method;
use toolcrib_server::Address;

use super::place::{self, Place};
use crate::config::Env;
use crate::output::Failure;

/// Names a daemon elsewhere: `https://HOST[:PORT]`, or `http://` on this machine.
pub(crate) const URL: &str = "TOOLCRIB_DAEMON";
/// The token for it.
const TOKEN: &str = "TOOLCRIB_TOKEN";
/// Exit code where there is no daemon to talk with (DESIGN 7).
pub(crate) const UNREACHABLE: u8 = 8;

/// A daemon that answers, of a version that this program can talk with.
#[derive(Debug)]
pub(crate) struct Client {
    way: Way,
    /// Whether it is the one of this person, on this machine.
    is_own: bool,
    /// What it said of itself.
    pub(crate) health: Health,
}

#[derive(Debug)]
enum Way {
    Near(near::Socket),
    Far(far::Url),
}

/// What `/healthz` says.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Health {
    /// Always `toolcrib`.
    name: String,
    /// Its version.
    pub(crate) version: String,
    /// Seconds since it started.
    pub(crate) up_seconds: u64,
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Ask<'a> {
    method: Method,
    path: &'a str,
    /// Its media type and the bytes.
    body: Option<(&'static str, Vec<u8>)>,
    /// Further headers.
    headers: Vec<(&'static str, String)>,
}

impl<'a> Ask<'a> {
    pub(crate) fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, body: None, headers: Vec::new() }
    }

    pub(crate) fn post(path: &'a str, body: &Value) -> Self {
        Self::raw(path, "application/json", body.to_string().into_bytes())
    }

    /// Bytes of this media type.
    pub(crate) fn raw(path: &'a str, kind: &'static str, body: Vec<u8>) -> Self {
        Self { method: Method::POST, path, body: Some((kind, body)), headers: Vec::new() }
    }

    pub(crate) fn put(path: &'a str, body: &Value) -> Self {
        Self { method: Method::PUT, ..Self::post(path, body) }
    }

    pub(crate) fn delete(path: &'a str) -> Self {
        Self { method: Method::DELETE, ..Self::get(path) }
    }

    /// With one more header.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// The answer as JSON, whatever its status.
    ///
    /// # Errors
    /// Exit code 1 for what is no JSON.
    pub(crate) fn json(&self) -> Result<Value, Failure> {
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| Failure::run(format!("the daemon's answer cannot be read: {error}")))
    }

    /// The answer of a request that was carried out.
    ///
    /// # Errors
    /// The daemon's words about why it was not, with the exit code of that.
    pub(crate) fn done(self) -> Result<Value, Failure> {
        if (200..300).contains(&self.status) {
            return self.json();
        }
        Err(self.problem())
    }

    /// Why it was not carried out.
    pub(crate) fn problem(&self) -> Failure {
        let problem = serde_json::from_slice::<Value>(&self.body).unwrap_or_default();
        let detail = problem.get("detail").and_then(Value::as_str);
        let detail = detail.map_or_else(|| format!("HTTP {}", self.status), str::to_owned);
        let code = match self.status {
            400 | 405 | 409 | 412 | 413 | 415 | 422 | 428 => 2,
            401 | 403 => 5,
            404 => 4,
            410 => 6,
            421 | 503 => UNREACHABLE,
            _ => 1,
        };
        Failure { code, message: format!("the daemon says: {detail}") }
    }
}

/// An answer that comes piece by piece.
pub(crate) enum Stream {
    Near(near::Pieces),
    Far(Box<far::Pieces>),
}

impl Stream {
    /// The next piece; `None` = it is over.
    ///
    /// # Errors
    /// Exit code 8 when it broke off.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Near(pieces) => pieces.next().await,
            Self::Far(pieces) => pieces.next().await,
        }
    }
}

impl Client {
    /// The daemon that was named, else the one of this person; `None` = none runs.
    ///
    /// # Errors
    /// Exit code 8 for one that was named and does not answer, that is another program's or another user's, or of another version.
    pub(crate) async fn find() -> Result<Option<Self>, Failure> {
        let env = Env::of_process();
        if let Some(url) = env.text(URL)? {
            let far = far::Url::new(&url, env.text(TOKEN)?)?;
            return Self::over(Way::Far(far), false).await.map(Some);
        }
        Self::own().await
    }

    /// The daemon of this person on this machine, whatever was named; `None` = none runs.
    ///
    /// # Errors
    /// As those of [`find`](Self::find).
    pub(crate) async fn own() -> Result<Option<Self>, Failure> {
        let place = Place::own()?;
        let Some(address) = place.living()? else { return Ok(None) };
        let found = async { Self::over(Self::near(&place, &address)?, true).await };
        match found.await {
            // It ended meanwhile.
            Err(failure) if failure.code == UNREACHABLE && place.living()?.is_none() => Ok(None),
            found => found.map(Some),
        }
    }

    /// The same, where there has to be one.
    ///
    /// # Errors
    /// Exit code 8.
    pub(crate) async fn required() -> Result<Self, Failure> {
        Self::find().await?.ok_or_else(|| {
            unreachable(
                "no daemon runs; start one with `toolcrib serve` or `toolcrib service start`",
            )
        })
    }

    fn near(place: &Place, address: &Address) -> Result<Way, Failure> {
        let closed = || {
            let words = "does not listen: it is stopping, or its socket was taken away (`toolcrib stop` ends it)";
            unreachable(&format!("the daemon (process {}) {words}", address.pid))
        };
        if let Some(path) = &address.unix {
            return near::Socket::at(path)?.map(Way::Near).ok_or_else(closed);
        }
        let url = place::url(address).ok_or_else(closed)?;
        let token = std::fs::read_to_string(place.token()).ok();
        far::Url::new(&url, token.map(|token| token.trim().to_owned())).map(Way::Far)
    }

    async fn over(way: Way, is_own: bool) -> Result<Self, Failure> {
        let health = serde_json::Value::Null;
        let reply = way.send(&Ask::get("/healthz")).await?;
        let health = serde_json::from_slice(&reply.body).unwrap_or(health);
        let health: Option<Health> = serde_json::from_value(health).ok();
        let health = health.filter(|health| health.name == "toolcrib");
        let Some(health) = health.filter(|_| reply.status == 200) else {
            return Err(unreachable(&format!("what answers at {way} is no Toolcrib daemon")));
        };
        fits(&health.version)?;
        Ok(Self { way, is_own, health })
    }

    /// Whether it is the one of this person, on this machine.
    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Sends a request and waits for the whole answer.
    ///
    /// # Errors
    /// Exit code 8 when none comes.
    pub(crate) async fn send(&self, ask: &Ask<'_>) -> Result<Reply, Failure> {
        self.way.send(ask).await
    }

    /// The answer of a request that was carried out.
    ///
    /// # Errors
    /// Exit code 8, or that of the daemon's problem.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send(&Ask::get(path)).await?.done()
    }

    /// Sends a request and reads its answer piece by piece.
    ///
    /// # Errors
    /// Exit code 8 when none comes, or that of the daemon's problem.
    pub(crate) async fn stream(&self, ask: &Ask<'_>) -> Result<Stream, Failure> {
        let (status, mut stream) = match &self.way {
            Way::Near(socket) => {
                let (status, pieces) = socket.open(ask).await?;
                (status, Stream::Near(pieces))
            }
            Way::Far(url) => {
                let (status, pieces) = url.open(ask).await?;
                (status, Stream::Far(Box::new(pieces)))
            }
        };
        if (200..300).contains(&status) {
            return Ok(stream);
        }
        let mut body = Vec::new();
        while let Some(piece) = stream.next().await? {
            body.extend(piece);
        }
        Err(Reply { status, body }.problem())
    }
}

impl std::fmt::Display for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.way.fmt(f)
    }
}

impl Way {
    async fn send(&self, ask: &Ask<'_>) -> Result<Reply, Failure> {
        match self {
            Self::Near(socket) => socket.send(ask).await,
            Self::Far(url) => url.send(ask).await,
        }
    }
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Near(socket) => socket.fmt(f),
            Self::Far(url) => url.fmt(f),
        }
    }
}

/// Daemons of the same minor version have the same interface.
fn fits(version: &str) -> Result<(), Failure> {
    let own = env!("CARGO_PKG_VERSION");
    let minor = |version: &str| -> Option<(u64, u64)> {
        let mut parts = version.split('.').map(|part| part.parse().ok());
        Some((parts.next()??, parts.next()??))
    };
    match (minor(version), minor(own)) {
        (Some(theirs), Some(ours)) if theirs == ours => Ok(()),
        (Some(theirs), Some(ours)) => {
            let (age, remedy) = if theirs < ours {
                ("older", "restart it: `toolcrib stop`, then `toolcrib serve`")
            } else {
                ("newer", "update this program")
            };
            Err(unreachable(&format!(
                "the daemon is {age} than this program ({version}, and this is {own}); {remedy}"
            )))
        }
        _ => Err(unreachable(&format!("the daemon has a version that cannot be read: {version}"))),
    }
}

/// There is no daemon to talk with.
pub(crate) fn unreachable(what: &str) -> Failure {
    Failure { code: UNREACHABLE, message: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_of_another_version_is_named() {
        let check = |version: &str, words: &str| {
            let failure = fits(version).unwrap_err();
            assert_eq!(failure.code, UNREACHABLE);
            assert!(failure.message.contains(words), "{failure:?}");
        };
        let own = env!("CARGO_PKG_VERSION");
        fits(own).unwrap();
        let (minor, _) = own.rsplit_once('.').unwrap();
        fits(&format!("{minor}.999")).unwrap();
        check("0.0.9", "older than this program (0.0.9");
        check("99.0.0", "newer than this program");
        check("soon", "cannot be read: soon");
        check("", "cannot be read");
    }

    #[test]
    fn a_problem_is_said_in_the_words_of_the_daemon() {
        let check = |status: u16, body: &str, code: u8, words: &str| {
            let failure = Reply { status, body: body.into() }.done().unwrap_err();
            assert_eq!((failure.code, failure.message.as_str()), (code, words));
        };
        check(404, r#"{"detail": "there is no run x"}"#, 4, "the daemon says: there is no run x");
        check(403, r#"{"detail": "no"}"#, 5, "the daemon says: no");
        check(409, "{}", 2, "the daemon says: HTTP 409");
        check(410, "no json", 6, "the daemon says: HTTP 410");
        check(503, "", 8, "the daemon says: HTTP 503");
        check(500, "", 1, "the daemon says: HTTP 500");
    }
}
