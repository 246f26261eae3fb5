//! The interface between MCP connections and the host program.

use toolcrib_core::{BoxFuture, CallCtx};
use toolcrib_net::HttpClient;
use toolcrib_sandbox::Process;

use super::elicitation::{Elicitation, Elicited};
use super::reviewed_tools::ReviewedTools;
use super::server_config::Stdio;

/// Services of the host program for connections. The defaults are for hosts that lack a feature.
pub trait ClientHost: Send + Sync + 'static {
    /// Starts the program of a server with piped input, in the sandbox. References to secrets in
    /// its variables are already replaced. At `first_sight`, before the server was reviewed, the
    /// program sees empty folders in place of the workspace.
    ///
    /// # Errors
    /// Why it was not started, as a sentence.
    fn start<'a>(
        &'a self,
        server: &'a str,
        program: &'a Stdio,
        first_sight: bool,
    ) -> BoxFuture<'a, Result<Process, String>>;

    /// Prepares the start of a program, for example fetches it; may take minutes. Runs before the
    /// time limit of the start begins.
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

    /// Explains a failed start from the program's complete output: the setting that prevented it,
    /// and the command that changes the setting.
    fn explain_failed_start(&self, server: &str, program: &Stdio, stderr: &str) -> Option<String> {
        let _ = (server, program, stderr);
        None
    }

    /// Returns the SHA-256 of the files of a program.
    fn program_digest<'a>(&'a self, program: &'a Stdio) -> BoxFuture<'a, Option<String>> {
        let _ = program;
        Box::pin(std::future::ready(None))
    }

    /// Watches a call's changes in the workspace, if the program has write access.
    fn watch_call<'a>(
        &'a self,
        program: &'a Stdio,
        call: &'a CallCtx,
    ) -> BoxFuture<'a, Option<Box<dyn CallWatch>>> {
        let _ = (program, call);
        Box::pin(std::future::ready(None))
    }

    /// Returns whether the server is known not to answer `server/discover`.
    fn ignores_discover<'a>(&'a self, server: &'a str) -> BoxFuture<'a, bool> {
        let _ = server;
        Box::pin(std::future::ready(false))
    }

    /// Records that the server does not answer `server/discover`.
    fn remember_ignores_discover<'a>(&'a self, server: &'a str) -> BoxFuture<'a, ()> {
        let _ = server;
        Box::pin(std::future::ready(()))
    }

    /// Returns the HTTP client with the owner's address policy.
    fn http(&self) -> HttpClient;

    /// Returns the HTTP client for a server at an address that the owner entered: it may be on this
    /// machine or in a private network.
    fn http_for(&self, url: &str) -> HttpClient {
        let _ = url;
        self.http()
    }

    /// Returns the secret of this name.
    ///
    /// # Errors
    /// Why it is missing, as a sentence that contains the name but not the value.
    fn secret(&self, name: &str) -> Result<String, String>;

    /// Returns the stored authorization for a server: JSON of
    /// [`StoredCredentials`](super::StoredCredentials).
    fn authorization<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Option<String>>;

    /// Returns a number that changes when stored authorizations may have changed, such as by
    /// another process. Called before each request, so it must be cheap.
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

    /// Returns the reviewed definitions of a server; `None` if there are none yet.
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

    /// Returns the definitions that were seen last, if they differ from the reviewed ones.
    fn seen_tools<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Option<ReviewedTools>> {
        let _ = server;
        Box::pin(std::future::ready(None))
    }

    /// Stores the definitions that were seen last; `None` if they are the reviewed ones.
    fn store_seen_tools<'a>(
        &'a self,
        server: &'a str,
        seen: Option<&'a ReviewedTools>,
    ) -> BoxFuture<'a, ()> {
        let _ = (server, seen);
        Box::pin(std::future::ready(()))
    }

    /// Returns the log file for a server's standard error; `None` keeps the log in memory only.
    fn log_file(&self, server: &str) -> Option<std::path::PathBuf> {
        let _ = server;
        None
    }

    /// Reports that the tools of a server have changed: its source must be attached again.
    fn tools_changed(&self, server: &str) {
        let _ = server;
    }

    /// Asks the person a server's question during this call.
    fn ask<'a>(&'a self, call: &'a CallCtx, question: Elicitation) -> BoxFuture<'a, Elicited> {
        let _ = (call, question);
        Box::pin(std::future::ready(Elicited::Decline))
    }

    /// Reports a server's progress on a call.
    fn progress(&self, call: &CallCtx, done: f64, total: Option<f64>, message: Option<String>) {
        let _ = (call, done, total, message);
    }
}

/// The watch of a call's changes in the workspace.
pub trait CallWatch: Send {
    /// Records the changes of this call. Returns a note for the model.
    fn end<'a>(self: Box<Self>, call: &'a CallCtx) -> BoxFuture<'a, Option<String>>
    where
        Self: 'a;
}
