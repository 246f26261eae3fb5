//! Configuration of one server.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::oauth::Oauth;

/// Prefix of a reference to a secret: `secret:GITHUB_TOKEN`, or inside a text:
/// `Bearer ${secret:TOKEN}`.
pub const SECRET_PREFIX: &str = "secret:";

/// Default time limit of a call.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Longest name: `server__tool` has at most 64 characters, most of which tools need.
const NAME_CHARS: usize = 30;

/// Name of a server: 1 to 30 of `[a-z0-9_-]`, starting with a letter, without two underscores in a
/// row.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerName(String);

/// A reserved name; see [`ServerName::new`].
const RESERVED: &str = "mcp";

/// Why a text is not a server name.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error(
    "\"{0}\" is not a server name: use 1 to 30 of a-z, 0-9, - and single _, starting with a letter, and another one than mcp"
)]
pub struct ServerNameError(String);

impl ServerName {
    /// Parses a name.
    ///
    /// # Errors
    /// [`ServerNameError`].
    pub fn new(text: &str) -> Result<Self, ServerNameError> {
        let allowed =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
        let first = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
        // Two underscores in a row separate server and tool. `mcp__SERVER__TOOL` is an alias of
        // each tool, and a tool of a server named mcp would have such a name.
        if first
            && text != RESERVED
            && text.len() <= NAME_CHARS
            && text.bytes().all(allowed)
            && !text.contains("__")
        {
            return Ok(Self(text.to_owned()));
        }
        Err(ServerNameError(text.chars().take(2 * NAME_CHARS).collect()))
    }

    /// Returns the valid name that is closest to a foreign one.
    #[must_use]
    pub fn from_lossy(text: &str) -> Self {
        let lower = text.to_lowercase();
        let mut name = String::new();
        for c in lower.chars() {
            let c = if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
            if !(c == '_' && name.ends_with('_')) {
                name.push(c);
            }
        }
        let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let cut = |most: usize| name.chars().take(most).collect::<String>();
        let name = match name.bytes().next() {
            None => "server".to_owned(),
            Some(first) if first.is_ascii_digit() => format!("s{}", cut(NAME_CHARS - 1)),
            Some(_) => cut(NAME_CHARS),
        };
        let name = if name == RESERVED { format!("{name}-server") } else { name };
        Self::new(&name).unwrap_or_else(|_| Self("server".to_owned()))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ServerName {
    type Error = ServerNameError;

    fn try_from(text: String) -> Result<Self, ServerNameError> {
        Self::new(&text)
    }
}

impl From<ServerName> for String {
    fn from(name: ServerName) -> Self {
        name.0
    }
}

/// One server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// Its name, the prefix of its tools' names.
    pub name: ServerName,
    /// The program or address of the server.
    pub remote: Remote,
    /// Whether its tools are offered. An untested server is disabled.
    pub enabled: bool,
    /// Time limit of a call.
    pub timeout: Duration,
    /// Idle time after which it is disconnected; the next call connects again.
    pub idle: Duration,
    /// Whether to use only revisions before 2026-07-28, for old servers that fail when a client
    /// tries the current revision first.
    pub legacy: bool,
    /// Whether the server's claims that a tool is read-only or idempotent are trusted.
    pub trusted: bool,
    /// The properties that must not change after the review.
    pub pin: Pin,
    /// A counter; increasing it restarts the server without another change.
    pub generation: u64,
    /// Whether results of all its tools have the trust of the workspace instead of external trust.
    pub workspace_results: bool,
    /// The server's own names of tools whose results have the trust of the workspace.
    pub workspace_tools: Vec<String>,
}

/// The properties of a server that must not change after its review; if they do, its tools are
/// held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pin {
    /// The definitions of its tools, and the name that it reports.
    #[default]
    Definition,
    /// Also its reported version and the files of its program.
    Program,
}

/// Access of a server's program to the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceAccess {
    /// No access.
    None,
    /// Read-only.
    #[default]
    Read,
    /// Write access; changes are recorded for undo.
    Write,
}

impl ServerConfig {
    /// Creates an enabled, untrusted server with default time limits.
    #[must_use]
    pub fn new(name: ServerName, remote: Remote) -> Self {
        Self {
            name,
            remote,
            enabled: true,
            timeout: CALL_TIMEOUT,
            idle: Duration::from_secs(300),
            legacy: false,
            trusted: false,
            pin: Pin::default(),
            generation: 0,
            workspace_results: false,
            workspace_tools: Vec::new(),
        }
    }
}

/// The program or address of a server.
#[derive(Debug, Clone, PartialEq)]
pub enum Remote {
    /// A local program with stdio transport.
    Stdio(Stdio),
    /// A URL with Streamable HTTP transport.
    Http(Http),
}

/// A program.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Stdio {
    /// Its name or path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables in addition to those of the sandbox; a value may refer to a secret
    /// (see [`SECRET_PREFIX`]).
    pub env: Vec<(String, String)>,
    /// Its working folder; `None` is the workspace.
    pub folder: Option<PathBuf>,
    /// Whether it gets the network that the owner allows for programs.
    pub network: bool,
    /// Access to the workspace. Before its first review, the program sees empty folders there.
    pub workspace: WorkspaceAccess,
    /// Additional files and folders that it may read.
    pub read: Vec<PathBuf>,
    /// Additional folders that it may change.
    pub write: Vec<PathBuf>,
    /// Hosts that it may connect to: `NAME` or `NAME:PORT`.
    pub allow_hosts: Vec<String>,
    /// Maximum memory in MB; `None` for the limit of other programs.
    pub memory_mb: Option<u64>,
    /// The program that fetches it from a package registry and runs it; `None` if the program is
    /// installed.
    pub launcher: Option<Launcher>,
}

/// A program that fetches the program of a server and runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// The kind of launcher.
    pub kind: LauncherKind,
    /// The package, in the launcher's notation.
    pub package: String,
    /// The address of the registry, from the person's own configuration of the launcher.
    pub registry: String,
}

/// The supported launchers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LauncherKind {
    /// `npx`, or `npm exec`.
    Npx,
    /// `uvx`, or `uv tool run`.
    Uvx,
    /// `docker run`.
    Docker,
}

/// Hides values of variables, which may be secrets.
impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Stdio")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &names)
            .field("folder", &self.folder)
            .field("network", &self.network)
            .field("workspace", &self.workspace)
            .field("read", &self.read)
            .field("write", &self.write)
            .field("allow_hosts", &self.allow_hosts)
            .field("memory_mb", &self.memory_mb)
            .field("launcher", &self.launcher)
            .finish()
    }
}

/// An HTTP server.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Http {
    /// The endpoint URL.
    pub url: String,
    /// Headers of every request; a value may refer to a secret (see [`SECRET_PREFIX`]).
    pub headers: Vec<(String, String)>,
    /// OAuth settings, unless a header carries credentials.
    pub oauth: Oauth,
}

impl Http {
    /// Returns whether a header carries credentials, so that no token is sent.
    #[must_use]
    pub fn has_own_credentials(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    }
}

/// Hides values of headers, which may be secrets.
impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Http")
            .field("url", &self.url)
            .field("headers", &names)
            .field("oauth", &self.oauth)
            .finish()
    }
}

/// Replaces references to secrets in a text.
pub(crate) fn with_secrets(
    text: &str,
    secret: impl Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    if let Some(name) = text.strip_prefix(SECRET_PREFIX) {
        return secret(name);
    }
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${secret:") {
        let Some((name, after)) = after.split_once('}') else { break };
        whole.push_str(before);
        whole.push_str(&secret(name)?);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

impl Remote {
    /// Returns whether the server gets secrets.
    #[must_use]
    pub fn has_secrets(&self) -> bool {
        let is_one = |value: &String| value.contains(SECRET_PREFIX);
        match self {
            Self::Stdio(program) => program.env.iter().any(|(_, value)| is_one(value)),
            Self::Http(http) => {
                http.headers.iter().any(|(_, value)| is_one(value))
                    || http.oauth.secrets().any(is_one)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_part_from_tools() {
        for good in ["git", "a", "git-hub", "a_b", "x9"] {
            assert!(ServerName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "9a", "A", "a__b", "a.b", "ä", &"a".repeat(31), "_a"] {
            assert!(ServerName::new(bad).is_err(), "{bad}");
        }
        for (text, name) in [
            ("GitHub", "github"),
            ("My  Server!", "my_server"),
            ("@scope/pkg", "scope_pkg"),
            ("9p", "s9p"),
            ("äö", "server"),
            ("a__b", "a_b"),
        ] {
            assert_eq!(ServerName::from_lossy(text).as_str(), name, "{text}");
        }
    }

    #[test]
    fn secrets_are_put_in_where_they_are_named() {
        let secret = |name: &str| {
            if name == "T" { Ok("v".to_owned()) } else { Err(format!("no secret {name}")) }
        };
        for (text, whole) in [
            ("plain", Ok("plain")),
            ("secret:T", Ok("v")),
            ("Bearer ${secret:T}!", Ok("Bearer v!")),
            ("secret:U", Err("no secret U")),
            ("${secret:T", Ok("${secret:T")),
        ] {
            assert_eq!(with_secrets(text, secret).as_deref().map_err(String::as_str), whole);
        }
    }
}
