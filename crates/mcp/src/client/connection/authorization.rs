//! Authorization of a connection: credentials, logins, and rejections.

use std::sync::Arc;

use toolcrib_core::{ErrorType, ToolError};

use super::super::oauth::{AuthError, Login, StoredCredentials, TokenManager};
use super::super::{ClientHost, Remote, ServerConfig};
use super::server_connection::Connection;

impl Connection {
    /// Returns the token manager of an HTTP server. `None` if a configured header carries
    /// credentials, or if the token would be sent unencrypted.
    pub(super) fn keeper_for(
        config: &ServerConfig,
        host: &Arc<dyn ClientHost>,
    ) -> Option<Arc<TokenManager>> {
        let Remote::Http(http) = &config.remote else { return None };
        if http.has_own_credentials() {
            return None;
        }
        let (name, oauth) = (config.name.as_str(), http.oauth.clone());
        TokenManager::new(name, &http.url, oauth, Arc::clone(host)).map(Arc::new)
    }

    pub(super) async fn is_authorized_anew(&self) -> bool {
        match &self.keeper {
            Some(keeper) => keeper.has_changed().await,
            None => false,
        }
    }

    /// Returns the requirements of a server that rejects our credentials when we have no token to
    /// send; `None` if a login helps.
    pub(crate) fn refusal(&self) -> Option<String> {
        if self.keeper.is_some() {
            return None;
        }
        let Remote::Http(http) = &self.config.remote else { return None };
        let name = &self.config.name;
        Some(if http.has_own_credentials() {
            format!(
                "it does not take the header that says who we are; look at the headers of {name} in mcp.toml"
            )
        } else {
            format!(
                "it requires a login, and over plain http to another machine the token could be read on the way; give {name} its https address in mcp.toml, then run `toolcrib mcp auth {name}`"
            )
        })
    }

    /// Creates the error for a server that a person must authorize first.
    pub(crate) fn needs_authorization(&self) -> ToolError {
        if let Some(why) = self.refusal() {
            return self.unreachable(&why, None);
        }
        let name = &self.config.name;
        let text = format!(
            "The MCP server {name} needs authorization: run `toolcrib mcp auth {name}`. Nothing was called, and calling it again does not help. Tell the user, or continue without it."
        );
        ToolError::new(ErrorType::NotConfigured, text)
    }

    /// Returns the stored credentials. `None` if the server uses none of ours: it is a program, has
    /// a credentials header, or is remote without TLS.
    pub async fn authorization(&self) -> Option<StoredCredentials> {
        match &self.keeper {
            Some(keeper) => Some(keeper.stored_credentials().await),
            None => None,
        }
    }

    /// Begins a login; the browser is redirected to `redirect`, an address of this machine.
    ///
    /// # Errors
    /// [`AuthError`].
    pub async fn login(&self, redirect: &str) -> Result<Login, AuthError> {
        let none = || AuthError::Configuration("it takes no authorization of ours".to_owned());
        self.keeper.as_ref().ok_or_else(none)?.login(redirect).await
    }

    /// Completes a login with the URL of the redirect. The redirect of another login leaves this
    /// one open.
    ///
    /// # Errors
    /// [`AuthError`].
    pub async fn finish_login(&self, login: &Login, redirected: &str) -> Result<(), AuthError> {
        let none = || AuthError::Configuration("it takes no authorization of ours".to_owned());
        self.keeper.as_ref().ok_or_else(none)?.finish(login, redirected).await?;
        self.slot.lock().await.retry_at = None;
        Ok(())
    }
}
