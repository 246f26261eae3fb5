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
    /// its variables are already replaced. At `first_sight`, before it was reviewed, it sees empty
    /// folders in place of the workspace.
    ///
    /// # Errors
    /// Why it was not started, as a sentence.
    fn start<'a>(
        &'a self,
        server: &'a str,
        program: &'a Stdio,
        first_sight: bool,
    ) -> BoxFuture<'a, Result<Process, String>>;

    /// Prepares the start of a program, such as fetching it; may take minutes. Done before the time
    /// of a start begins.
    ///
    /// # Errors
    /// Why it cannot be started, as a sentence.
    fn prepare<'a>(
        &'a self,
        server: &'a str,
        program: &'a Stdio,
    ) -> BoxFuture<'a, Result<(), String>> {
        let _ = (server, program);
        Box::pin(std::future::ready(Ok(())))
    }

    /// What may explain a start that failed, from all that the program wrote: the setting that was
    /// in the way, and the command that changes it.
    fn explain_failed_start(&self, server: &str, program: &Stdio, stderr: &str) -> Option<String> {
        let _ = (server, program, stderr);
        None
    }

    /// SHA-256 of the files of a program.
    fn program_digest<'a>(&'a self, program: &'a Stdio) -> BoxFuture<'a, Option<String>> {
        let _ = program;
        Box::pin(std::future::ready(None))
    }

    /// Watches what a call changes in the workspace, if the program may change it.
    fn watch_call<'a>(
        &'a self,
        program: &'a Stdio,
        call: &'a CallCtx,
    ) -> BoxFuture<'a, Option<Box<dyn CallWatch>>> {
        let _ = (program, call);
        Box::pin(std::future::ready(None))
    }

    /// Whether the server is known to leave `server/discover` unanswered.
    fn ignores_discover<'a>(&'a self, server: &'a str) -> BoxFuture<'a, bool> {
        let _ = server;
        Box::pin(std::future::ready(false))
    }

    /// Remembers that it does.
    fn remember_ignores_discover<'a>(&'a self, server: &'a str) -> BoxFuture<'a, ()> {
        let _ = server;
        Box::pin(std::future::ready(()))
    }

    /// The HTTP client with the owner's address policy.
    fn http(&self) -> HttpClient;

    /// The HTTP client for a server at this address, which the owner has typed: it may be on this
    /// machine or in a private network.
    fn http_for(&self, url: &str) -> HttpClient {
        let _ = url;
        self.http()
    }

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

/// What a call changes in the workspace.
pub trait CallWatch: Send {
    /// Records the changes under this call. Returns what the model has to know.
    fn end<'a>(self: Box<Self>, call: &'a CallCtx) -> BoxFuture<'a, Option<String>>
    where
        Self: 'a;
}
