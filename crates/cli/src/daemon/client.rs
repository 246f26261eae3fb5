//! A client of a daemon: over its socket, or, if `TOOLCRIB_DAEMON` names one on another machine,
//! over the network.

mod server_sent_events;
mod tcp;
mod unix;

pub(crate) use server_sent_events::{EventStream, ServerSentEvent};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_net::Method;
use toolcrib_server::DaemonAddress;

use super::paths::{self, DaemonPaths};
use crate::clap_args::WorkspaceArgs;
use crate::config::Env;
use crate::output::Failure;

/// Variable with the URL of a daemon: `https://HOST[:PORT]`, or `http://` on this machine.
pub(crate) const DAEMON_VARIABLE: &str = "TOOLCRIB_DAEMON";
/// Variable with the token for it.
const TOKEN_VARIABLE: &str = "TOOLCRIB_TOKEN";
/// Exit code if no daemon can be reached.
pub(crate) const EXIT_UNREACHABLE: u8 = 8;

/// A daemon that responds, of a compatible version.
#[derive(Debug)]
pub(crate) struct Client {
    way: Transport,
    /// Whether it is this person's daemon on this machine.
    is_own: bool,
    /// The content of its `/healthz`.
    pub(crate) health: Health,
}

#[derive(Debug)]
enum Transport {
    Unix(unix::DaemonSocket),
    Tcp(tcp::DaemonUrl),
}

/// The content of `/healthz`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Health {
    /// Always `toolcrib`.
    name: String,
    /// Its version.
    pub(crate) version: String,
    /// Seconds since the daemon started.
    pub(crate) up_seconds: u64,
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct ApiRequest<'a> {
    method: Method,
    path: &'a str,
    /// Media type and bytes of the body.
    body: Option<(&'static str, Vec<u8>)>,
    /// Additional headers.
    headers: Vec<(&'static str, String)>,
}

impl<'a> ApiRequest<'a> {
    pub(crate) fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, body: None, headers: Vec::new() }
    }

    pub(crate) fn post(path: &'a str, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self::raw(path, "application/json", body)
    }

    /// Creates a request with a body of this media type.
    pub(crate) fn raw(path: &'a str, kind: &'static str, body: Vec<u8>) -> Self {
        Self { method: Method::POST, path, body: Some((kind, body)), headers: Vec::new() }
    }

    pub(crate) fn put(path: &'a str, body: &impl Serialize) -> Self {
        Self { method: Method::PUT, ..Self::post(path, body) }
    }

    pub(crate) fn delete(path: &'a str) -> Self {
        Self { method: Method::DELETE, ..Self::get(path) }
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Returns the response as JSON, with any status.
    ///
    /// # Errors
    /// Exit code 1 for a response that is not JSON.
    pub(crate) fn json(&self) -> Result<Value, Failure> {
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| Failure::run(format!("the daemon's answer cannot be read: {error}")))
    }

    /// Returns the response to a successful request.
    ///
    /// # Errors
    /// The daemon's problem, with its exit code.
    pub(crate) fn into_result(self) -> Result<Value, Failure> {
        if (200..300).contains(&self.status) {
            return self.json();
        }
        Err(self.to_failure())
    }

    /// Returns the response as the reply of an operation.
    ///
    /// # Errors
    /// The errors of [`into_result`](Self::into_result), and exit code 1 for a reply of another
    /// form.
    pub(crate) fn into_reply<R: DeserializeOwned>(self) -> Result<R, Failure> {
        parse_reply(self.into_result()?)
    }

    /// Converts the daemon's problem to a failure.
    pub(crate) fn to_failure(&self) -> Failure {
        let problem = serde_json::from_slice::<Value>(&self.body).unwrap_or_default();
        let detail = problem.get("detail").and_then(Value::as_str);
        let detail = detail.map_or_else(|| format!("HTTP {}", self.status), str::to_owned);
        let code = match self.status {
            400 | 405 | 409 | 412 | 413 | 415 | 422 | 428 => 2,
            401 | 403 => 5,
            404 => 4,
            410 => 6,
            421 | 503 => EXIT_UNREACHABLE,
            _ => 1,
        };
        Failure { code, message: format!("the daemon says: {detail}") }
    }
}

/// Parses the reply of an operation.
///
/// # Errors
/// Exit code 1 for JSON of another form.
pub(crate) fn parse_reply<R: DeserializeOwned>(reply: Value) -> Result<R, Failure> {
    serde_json::from_value(reply)
        .map_err(|error| Failure::run(format!("the daemon's reply cannot be read: {error}")))
}

/// A streamed response.
pub(crate) enum ResponseStream {
    Unix(unix::ByteStream),
    Tcp(Box<tcp::ByteStream>),
}

impl ResponseStream {
    /// Returns the next piece; `None` at the end.
    ///
    /// # Errors
    /// Exit code 8 if the connection broke.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Unix(pieces) => pieces.next().await,
            Self::Tcp(pieces) => pieces.next().await,
        }
    }
}

impl Client {
    /// Connects to the named daemon, else to this person's; returns `None` if none runs.
    ///
    /// # Errors
    /// Exit code 8 for a named daemon that does not respond, another program or user's daemon at
    /// its address, or an incompatible version.
    pub(crate) async fn connect() -> Result<Option<Self>, Failure> {
        let env = Env::from_process();
        if let Some(url) = env.text(DAEMON_VARIABLE)? {
            let far = tcp::DaemonUrl::new(&url, env.text(TOKEN_VARIABLE)?)?;
            return Self::handshake(Transport::Tcp(far), false).await.map(Some);
        }
        Self::connect_own().await
    }

    /// Connects to the user's daemon on this machine, ignoring configured addresses; returns `None`
    /// if none runs.
    ///
    /// # Errors
    /// The errors of [`connect`](Self::connect).
    pub(crate) async fn connect_own() -> Result<Option<Self>, Failure> {
        let place = DaemonPaths::current()?;
        let Some(address) = place.running_address()? else { return Ok(None) };
        let found = async { Self::handshake(Self::own_transport(&place, &address)?, true).await };
        match found.await {
            // The daemon ended meanwhile.
            Err(failure)
                if failure.code == EXIT_UNREACHABLE && place.running_address()?.is_none() =>
            {
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// Connects to a daemon that must exist.
    ///
    /// # Errors
    /// Exit code 8 if none runs.
    pub(crate) async fn connect_required() -> Result<Self, Failure> {
        Self::connect().await?.ok_or_else(|| {
            unreachable(
                "no daemon is running; start one with `toolcrib serve` or `toolcrib daemon service start`",
            )
        })
    }

    fn own_transport(place: &DaemonPaths, address: &DaemonAddress) -> Result<Transport, Failure> {
        let closed = || {
            let words = "does not listen: it is stopping, or its socket was taken away (`toolcrib stop` ends it)";
            unreachable(&format!("the daemon (process {}) {words}", address.pid))
        };
        if let Some(path) = &address.unix {
            return unix::DaemonSocket::open_if_present(path)?
                .map(Transport::Unix)
                .ok_or_else(closed);
        }
        let url = paths::tcp_url(address).ok_or_else(closed)?;
        let token = std::fs::read_to_string(place.token_file()).ok();
        tcp::DaemonUrl::new(&url, token.map(|token| token.trim().to_owned())).map(Transport::Tcp)
    }

    async fn handshake(way: Transport, is_own: bool) -> Result<Self, Failure> {
        let health = serde_json::Value::Null;
        let reply = way.send(&ApiRequest::get("/healthz")).await?;
        let health = serde_json::from_slice(&reply.body).unwrap_or(health);
        let health: Option<Health> = serde_json::from_value(health).ok();
        let health = health.filter(|health| health.name == "toolcrib");
        let Some(health) = health.filter(|_| reply.status == 200) else {
            return Err(unreachable(&format!("the server at {way} is not a Toolcrib daemon")));
        };
        check_version(&health.version)?;
        Ok(Self { way, is_own, health })
    }

    /// Returns whether it is this person's daemon on this machine.
    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Sends a request and waits for the complete response.
    ///
    /// # Errors
    /// Exit code 8 if there is no response.
    pub(crate) async fn send(&self, ask: &ApiRequest<'_>) -> Result<Reply, Failure> {
        self.way.send(ask).await
    }

    /// Sends a `GET` request; returns the response if it succeeded.
    ///
    /// # Errors
    /// Exit code 8, or the exit code of the daemon's problem.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send(&ApiRequest::get(path)).await?.into_result()
    }

    /// Sends a request; returns the reply of the operation if it succeeded.
    ///
    /// # Errors
    /// Exit code 8, or the exit code of the daemon's problem.
    pub(crate) async fn call<R: DeserializeOwned>(
        &self,
        ask: &ApiRequest<'_>,
    ) -> Result<R, Failure> {
        self.send(ask).await?.into_reply()
    }

    /// Sends a request and streams its response.
    ///
    /// # Errors
    /// Exit code 8 if there is no response, or the exit code of the daemon's problem.
    pub(crate) async fn stream(&self, ask: &ApiRequest<'_>) -> Result<ResponseStream, Failure> {
        let (status, mut stream) = match &self.way {
            Transport::Unix(socket) => {
                let (status, pieces) = socket.open(ask).await?;
                (status, ResponseStream::Unix(pieces))
            }
            Transport::Tcp(url) => {
                let (status, pieces) = url.open(ask).await?;
                (status, ResponseStream::Tcp(Box::new(pieces)))
            }
        };
        if (200..300).contains(&status) {
            return Ok(stream);
        }
        let mut body = Vec::new();
        while let Some(piece) = stream.next().await? {
            body.extend(piece);
        }
        Err(Reply { status, body }.to_failure())
    }
}

impl std::fmt::Display for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.way.fmt(f)
    }
}

impl Transport {
    async fn send(&self, ask: &ApiRequest<'_>) -> Result<Reply, Failure> {
        match self {
            Self::Unix(socket) => socket.send(ask).await,
            Self::Tcp(url) => url.send(ask).await,
        }
    }
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(socket) => socket.fmt(f),
            Self::Tcp(url) => url.fmt(f),
        }
    }
}

/// Checks the version: daemons of the same minor version have the same interface.
fn check_version(version: &str) -> Result<(), Failure> {
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

/// Refuses options that name folders: the daemon's folders were fixed when it started.
///
/// # Errors
/// Exit code 2.
pub(crate) fn reject_workspace_args(args: &WorkspaceArgs) -> Result<(), Failure> {
    let given = [
        ("--root", !args.root.is_empty()),
        ("--workspace", args.workspace.is_some()),
        ("--tools", !args.tools.is_empty()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag} and --daemon exclude each other: the daemon works where it was started"
        ))),
        None => Ok(()),
    }
}

/// Returns the failure if no daemon can be reached.
pub(crate) fn unreachable(what: &str) -> Failure {
    Failure { code: EXIT_UNREACHABLE, message: what.to_owned() }
}

/// Encodes a name as one segment of a path.
pub(crate) fn percent_encode(name: &str) -> String {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_of_a_path() {
        assert_eq!(percent_encode("tool:read_file"), "tool:read_file");
        assert_eq!(percent_encode("source:a/b c?ä"), "source:a%2Fb%20c%3F%C3%A4");
    }

    #[test]
    fn a_daemon_of_another_version_is_named() {
        let check = |version: &str, words: &str| {
            let failure = check_version(version).unwrap_err();
            assert_eq!(failure.code, EXIT_UNREACHABLE);
            assert!(failure.message.contains(words), "{failure:?}");
        };
        let own = env!("CARGO_PKG_VERSION");
        check_version(own).unwrap();
        let (minor, _) = own.rsplit_once('.').unwrap();
        check_version(&format!("{minor}.999")).unwrap();
        check("0.0.9", "older than this program (0.0.9");
        check("99.0.0", "newer than this program");
        check("soon", "cannot be read: soon");
        check("", "cannot be read");
    }

    #[test]
    fn a_problem_is_said_in_the_words_of_the_daemon() {
        let check = |status: u16, body: &str, code: u8, words: &str| {
            let failure = Reply { status, body: body.into() }.into_result().unwrap_err();
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
