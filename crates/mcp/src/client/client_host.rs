//! What MCP connections need from the host program.

use toolcrib_core::{BoxFuture, CallCtx};
use toolcrib_net::HttpClient;
use toolcrib_sandbox::Process;

use super::elicitation::{Elicitation, Elicited};
use super::reviewed_tools::ReviewedTools;
use super::server_config::Stdio;

/// What connections need from the host program. The defaults stand for a feature that the host does
/// not have.
pub trait ClientHost: Send + Sync + 'static {
    /// Starts the program of a server with piped input, in the sandbox. References to secrets in
    /// its variables are already replaced.
    ///
    /// # Errors
    /// Why it was not started, as a sentence.
    fn start<'a>(
        &'a self,
        server: &'a str,
        program: &'a Stdio,
    ) -> BoxFuture<'a, Result<Process, String>>;

    /// The HTTP client with the owner's address policy.
    fn http(&self) -> HttpClient;

    /// The secret of this name.
    ///
    /// # Errors
    /// Why it is missing, as a sentence that contains the name but not the value.
    fn secret(&self, name: &str) -> Result<String, String>;

    /// The stored authorization for a server: JSON of
    /// [`StoredCredentials`](super::StoredCredentials).
    fn authorization<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Option<String>>;

    /// A number that changes when stored authorizations may have changed, such as by another
    /// process. Called before each request, so it must be cheap.
    fn authorizations_changed(&self) -> u64 {
        0
    }

    /// Stores that JSON as a secret, or deletes it. Its values are masked from now on (see
    /// [`StoredCredentials::secret_values`](super::StoredCredentials::secret_values)).
    ///
    /// # Errors
    /// Why it could not be stored, as a sentence.
    fn store_authorization<'a>(
        &'a self,
        server: &'a str,
        text: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// Locks the authorization for a server against renewal by other processes until the value is
    /// dropped.
    fn lock_authorization<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Box<dyn Send>> {
        let _ = server;
        Box::pin(std::future::ready(Box::new(()) as Box<dyn Send>))
    }

    /// The reviewed definitions of a server; `None` if there are none yet.
    fn reviewed_tools<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Option<ReviewedTools>>;

    /// Stores the reviewed definitions of a server.
    ///
    /// # Errors
    /// Why they could not be stored, as a sentence.
    fn store_reviewed_tools<'a>(
        &'a self,
        server: &'a str,
        pins: &'a ReviewedTools,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// The definitions that were seen last, if they differ from the reviewed ones.
    fn seen_tools<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Option<ReviewedTools>> {
        let _ = server;
        Box::pin(std::future::ready(None))
    }

    /// Stores the definitions that were seen last; `None`: they are the reviewed ones.
    fn store_seen_tools<'a>(
        &'a self,
        server: &'a str,
        seen: Option<&'a ReviewedTools>,
    ) -> BoxFuture<'a, ()> {
        let _ = (server, seen);
        Box::pin(std::future::ready(()))
    }

    /// Log file for a server's standard error; `None` keeps it in memory only.
    fn log_file(&self, server: &str) -> Option<std::path::PathBuf> {
        let _ = server;
        None
    }

    /// The tools of a server have changed: its source must be attached again.
    fn tools_changed(&self, server: &str) {
        let _ = server;
    }

    /// A server asks a question in the middle of this call.
    fn ask<'a>(&'a self, call: &'a CallCtx, question: Elicitation) -> BoxFuture<'a, Elicited> {
        let _ = (call, question);
        Box::pin(std::future::ready(Elicited::Decline))
    }

    /// A server reports the progress of a call.
    fn progress(&self, call: &CallCtx, done: f64, total: Option<f64>, message: Option<String>) {
        let _ = (call, done, total, message);
    }
}
