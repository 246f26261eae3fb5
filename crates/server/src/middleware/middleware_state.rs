//! The state that the middleware needs to check requests.

use std::sync::Arc;

use toolcrib_app::Toolcrib;

use super::browser_sessions::BrowserSessions;
use super::local_token;
use super::session_file::SessionFile;
use super::sign_in_codes::SignInCodes;
use super::token_cache::TokenCache;
use crate::admission::Admission;
use crate::settings::{DaemonSettings, Listen};
use crate::start_error::StartError;

/// The state that the middleware needs to check requests.
pub(crate) struct MiddlewareState {
    /// Valid tokens.
    pub(crate) tokens: TokenCache,
    /// Sessions of the page.
    pub(crate) sessions: BrowserSessions,
    /// Codes for signing in a browser.
    pub(crate) codes: SignInCodes,
    /// Limits of clients.
    pub(crate) admission: Arc<Admission>,
    /// Allowed hosts, origins and proxies.
    pub(super) listen: Listen,
    /// Maximum number of bytes of a body.
    pub(super) body_bytes: usize,
}

impl MiddlewareState {
    /// Reads the token of this machine, or creates one, and loads the sessions.
    pub(crate) async fn load(
        toolcrib: &Toolcrib,
        settings: &DaemonSettings,
        admission: Arc<Admission>,
    ) -> Result<Self, StartError> {
        let machine = local_token::load_or_create(&settings.folder)?;
        let store = Arc::clone(&toolcrib.stores().tokens);
        let secrets = toolcrib.engine().sealing().secrets.clone();
        let file = SessionFile::in_folder(&settings.folder, &machine);
        Ok(Self {
            tokens: TokenCache::new(store, &machine, secrets),
            sessions: BrowserSessions::load(settings.session_lifetime, file),
            codes: SignInCodes::default(),
            admission,
            listen: settings.listen.clone(),
            body_bytes: settings.body_bytes,
        })
    }
}
