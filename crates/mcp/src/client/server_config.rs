//! What is configured of one server.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::auth::Oauth;

/// A value that begins with this names a secret of the store: `secret:GITHUB_TOKEN`, also inside of a text: `Bearer ${secret:TOKEN}`.
pub const SECRET: &str = "secret:";

/// Longest call of a tool (DESIGN 9, Bounds: 60 s for MCP).
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Longest name: `server__tool` has 64 characters, and tools need most of them (SPEC 1.1).
const NAME_CHARS: usize = 30;

/// The name of a server: 1 to 30 of `[a-z0-9_-]`, beginning with a letter, without two underscores in a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerName(String);

/// Why a text names no server.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error(
    "\"{0}\" is no name of a server: it has 1 to 30 of a-z, 0-9, - and single _, and begins with a letter"
)]
pub struct ServerNameError(String);

impl ServerName {
    /// Reads a name.
    ///
    /// # Errors
    /// [`ServerNameError`].
    pub fn new(text: &str) -> Result<Self, ServerNameError> {
        let allowed =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
        let first = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
        // Two in a row part the server from the tool.
        if first && text.len() <= NAME_CHARS && text.bytes().all(allowed) && !text.contains("__") {
            return Ok(Self(text.to_owned()));
        }
        Err(ServerNameError(text.chars().take(2 * NAME_CHARS).collect()))
    }

    /// The name that comes closest to what somebody else calls it.
    #[must_use]
    pub fn closest(text: &str) -> Self {
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
        Self::new(&name).unwrap_or_else(|_| Self("server".to_owned()))
    }

    /// The name as text.
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
    /// Its name, the first part of the names of its tools.
    pub name: ServerName,
    /// How it is reached.
    pub remote: Remote,
    /// Whether its tools are offered. One that was never tested is off.
    pub enabled: bool,
    /// Longest call of a tool.
    pub timeout: Duration,
    /// How long it may do nothing before it is let go; the next call connects again.
    pub idle: Duration,
    /// Whether only the revisions before 2026-07-28 are spoken, without asking for today's first. For old servers that trip over the question.
    pub legacy: bool,
    /// Whether the owner takes the server at its word where it says that a tool only reads, or that twice is as once.
    pub trusted: bool,
}

impl ServerConfig {
    /// A server that is on, with the usual times, not taken at its word.
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
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Remote {
    /// A program of this machine that speaks over its input and output.
    Stdio(Stdio),
    /// An address that speaks Streamable HTTP.
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
    /// Its variables beside those of the sandbox; a value may name a secret (see [`SECRET`]).
    pub env: Vec<(String, String)>,
    /// The folder that it starts in; `None` = the workspace.
    pub folder: Option<PathBuf>,
    /// Whether it gets the network that the owner allows to programs.
    pub network: bool,
}

/// Values of variables may be secrets.
impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Stdio")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &names)
            .field("folder", &self.folder)
            .field("network", &self.network)
            .finish()
    }
}

/// An address.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Http {
    /// The endpoint.
    pub url: String,
    /// Headers of every request; a value may name a secret (see [`SECRET`]).
    pub headers: Vec<(String, String)>,
    /// How it is authorized, where a header does not say so.
    pub oauth: Oauth,
}

impl Http {
    /// Whether a header says who we are, so that no token of ours goes along.
    #[must_use]
    pub fn says_who_we_are(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    }
}

/// Values of headers may be secrets.
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

/// A text with the secrets that it names put in.
pub(crate) fn with_secrets(
    text: &str,
    secret: impl Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    if let Some(name) = text.strip_prefix(SECRET) {
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
    /// Whether it is given secrets.
    #[must_use]
    pub fn has_secrets(&self) -> bool {
        let is_one = |value: &String| value.contains(SECRET);
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
            assert_eq!(ServerName::closest(text).as_str(), name, "{text}");
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
