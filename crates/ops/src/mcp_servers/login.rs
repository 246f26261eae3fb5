//! Logins to MCP servers that a browser finishes: a person starts a login, and the redirect of the
//! authorization server ends it. They are kept in the memory of this process: a lost login has to
//! be started again.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::mcp::client::{AuthError, Connection, Login, Remote};

use crate::error::OpError;

/// Time limit for the person, as for `toolcrib mcp auth`.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The state of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpLoginState {
    /// The browser has not returned.
    Waiting,
    /// The token was received.
    Done,
    /// The login failed.
    Failed,
}

/// A login to an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpLogin {
    /// Its state.
    pub state: McpLoginState,
    /// The address to open in a browser, while the login waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The authorization server.
    pub issuer: String,
    /// The requested scopes; empty = the server's default.
    pub scopes: Vec<String>,
    /// Seconds that remain, while the login waits.
    pub seconds_left: u64,
    /// The reason for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A login that a redirect has ended.
pub struct FinishedLogin {
    /// The connection to the server.
    pub connection: Arc<Connection>,
    /// The principal that started it, by its name in records.
    pub by: String,
    /// The result.
    pub ended: Result<(), AuthError>,
}

/// A login with its result.
struct OpenLogin {
    connection: Arc<Connection>,
    login: Arc<Login>,
    begun: Instant,
    by: String,
    outcome: Option<Result<(), AuthError>>,
}

/// The logins of a process, the last one for each server.
#[derive(Default)]
pub struct McpLogins {
    open: Mutex<HashMap<String, OpenLogin>>,
}

impl McpLogins {
    /// Starts a login. The browser returns to `redirect`, an address of this daemon.
    ///
    /// # Errors
    /// [`OpError::Invalid`] if the server does not support logins, or none that return to this
    /// address; [`OpError::Unavailable`] if its authorization server cannot be used.
    pub async fn begin(
        &self,
        connection: Arc<Connection>,
        redirect: &str,
        by: String,
    ) -> Result<McpLogin, OpError> {
        let name = connection.config().name.to_string();
        check_server(&connection)?;
        check_redirect(redirect)?;
        let login = connection.login(redirect).await.map_err(|error| match error {
            AuthError::Configuration(why) => OpError::Invalid(why),
            error => OpError::Unavailable(format!("no login to {name}: {error}")),
        })?;
        let login = Arc::new(login);
        let open = OpenLogin { connection, login, begun: Instant::now(), by, outcome: None };
        let reply = open.reply();
        self.lock().insert(name, open);
        Ok(reply)
    }

    /// Returns the last login to a server; `None` if there was none, or if it was not finished in
    /// time.
    #[must_use]
    pub fn show(&self, server: &str) -> Option<McpLogin> {
        let mut open = self.lock();
        open.retain(|_, one| one.outcome.is_some() || one.begun.elapsed() < LOGIN_TIMEOUT);
        open.get(server).map(OpenLogin::reply)
    }

    /// Ends the login of a redirect. Returns `None` if the redirect belongs to no waiting login.
    pub async fn finish(&self, redirected: &str) -> Option<FinishedLogin> {
        let (name, connection, login, by) = self.waiting_for(redirected)?;
        let ended = connection.finish_login(&login, redirected).await;
        if let Some(open) =
            self.lock().get_mut(&name).filter(|open| Arc::ptr_eq(&open.login, &login))
        {
            open.outcome = Some(ended.clone());
        }
        Some(FinishedLogin { connection, by, ended })
    }

    fn waiting_for(
        &self,
        redirected: &str,
    ) -> Option<(String, Arc<Connection>, Arc<Login>, String)> {
        let open = self.lock();
        let waits = |one: &&OpenLogin| one.outcome.is_none() && one.begun.elapsed() < LOGIN_TIMEOUT;
        let (name, found) =
            open.iter().find(|(_, one)| waits(one) && one.login.is_answered_by(redirected))?;
        let (connection, login) = (Arc::clone(&found.connection), Arc::clone(&found.login));
        Some((name.clone(), connection, login, found.by.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, OpenLogin>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenLogin {
    fn reply(&self) -> McpLogin {
        let (state, why) = match &self.outcome {
            None => (McpLoginState::Waiting, None),
            Some(Ok(())) => (McpLoginState::Done, None),
            Some(Err(error)) => (McpLoginState::Failed, Some(error.to_string())),
        };
        let waits = state == McpLoginState::Waiting;
        let left = LOGIN_TIMEOUT.saturating_sub(self.begun.elapsed());
        McpLogin {
            state,
            url: waits.then(|| self.login.url().to_owned()),
            issuer: self.login.issuer().to_owned(),
            scopes: self.login.scopes().to_vec(),
            seconds_left: if waits { left.as_secs() } else { 0 },
            why,
        }
    }
}

/// Refuses a client that was registered manually, because it returns to the address of its
/// registration.
fn check_server(connection: &Connection) -> Result<(), OpError> {
    let name = &connection.config().name;
    match &connection.config().remote {
        Remote::Http(http) => match http.oauth.redirect_port {
            None => Ok(()),
            Some(port) => Err(OpError::Invalid(format!(
                "the client of {name} returns to port {port} of the machine of mcp.toml: run `toolcrib mcp auth {name}` there"
            ))),
        },
        Remote::Stdio(_) => Err(OpError::Invalid(format!(
            "{name} is a program: pass its credentials as a variable; `secret:NAME` refers to a secret"
        ))),
    }
}

/// Checks the redirect: authorization codes must be sent over TLS, or not over a network (OAuth
/// 2.1, 1.5 and 8.4.2).
fn check_redirect(redirect: &str) -> Result<(), OpError> {
    let plain = redirect.strip_prefix("http://").map(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    });
    match plain {
        Some(true) => Ok(()),
        None if redirect.starts_with("https://") => Ok(()),
        Some(false) => Err(OpError::Invalid(
            "this page came over plain http from another machine, where the answer of the login could be read on the way; open it over https or on the machine of the daemon, or use `toolcrib mcp auth`".to_owned(),
        )),
        None => Err(OpError::Invalid(
            "a login comes back to an address of the daemon; send this request to one".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_comes_back_over_tls_or_on_this_machine() {
        let check = |redirect: &str, expected: bool| {
            assert_eq!(check_redirect(redirect).is_ok(), expected, "{redirect}");
        };
        check("http://127.0.0.1:7373/oauth/callback", true);
        check("http://localhost:7373/oauth/callback", true);
        check("http://[::1]:7373/oauth/callback", true);
        check("https://crib.example/oauth/callback", true);
        check("http://192.168.1.4:7373/oauth/callback", false);
        check("http://localhost.example/oauth/callback", false);
        check("/oauth/callback", false);
    }
}
