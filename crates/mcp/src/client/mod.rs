//! Servers of others: their connections, and their tools as entries of our registry.

mod auth;
mod connecting;
mod connection;
mod definition;
mod handler;
mod http;
pub mod import;
mod log;
mod pins;
mod resource;
mod result;
mod server_config;
pub mod servers_file;
mod skill;
mod source;
mod task;
mod tool;

pub use auth::{AuthError, GrantKind, Kept, Login, Oauth};
pub use connection::{Connection, State};
pub use handler::{Elicitation, Elicited};
pub use pins::{Change, Held, Pins};
pub use server_config::{Http, Remote, SECRET, ServerConfig, ServerName, ServerNameError, Stdio};
pub use skill::{OfferedFile, OfferedSkill};
pub use source::McpSource;

use toolcrib_core::{BoxFuture, CallCtx};
use toolcrib_net::HttpClient;
use toolcrib_sandbox::Process;

/// What connections need of the program around them. What need not be there is not, where it is not overridden.
pub trait Host: Send + Sync + 'static {
    /// Starts the program of a server with piped input, in the sandbox. References to secrets in its variables are values here.
    ///
    /// # Errors
    /// Why it was not started, as a sentence.
    fn start<'a>(
        &'a self,
        server: &'a str,
        program: &'a Stdio,
    ) -> BoxFuture<'a, Result<Process, String>>;

    /// The client that reaches what the owner allows; for servers over HTTP.
    fn http(&self) -> HttpClient;

    /// The secret of this name.
    ///
    /// # Errors
    /// Why there is none, as a sentence that names it and not its value.
    fn secret(&self, name: &str) -> Result<String, String>;

    /// What is kept of the authorization for a server: the text of a [`Kept`].
    fn authorization<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Option<String>>;

    /// Another number when what is kept of authorizations may be other than before: another process may have kept or forgotten something. It
    /// is asked before each request, so it has to be cheap.
    fn authorizations_changed(&self) -> u64 {
        0
    }

    /// Keeps that text as a secret, or forgets it. Its values are masked from now on (see [`Kept::secrets_of`]).
    ///
    /// # Errors
    /// Why it could not be kept, as a sentence.
    fn keep_authorization<'a>(
        &'a self,
        server: &'a str,
        text: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// Waits until nobody else renews the authorization for a server, here or in another process; nobody does until the value is dropped.
    fn alone<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Box<dyn Send>> {
        let _ = server;
        Box::pin(std::future::ready(Box::new(()) as Box<dyn Send>))
    }

    /// What was reviewed of a server; `None` = nothing as yet.
    fn pins<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Option<Pins>>;

    /// Keeps what was reviewed of a server.
    ///
    /// # Errors
    /// Why it could not be kept, as a sentence.
    fn keep_pins<'a>(
        &'a self,
        server: &'a str,
        pins: &'a Pins,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// Where a server's errors are written; `None` = they are kept in memory alone.
    fn log_file(&self, server: &str) -> Option<std::path::PathBuf> {
        let _ = server;
        None
    }

    /// The tools of a server are others than before: its source is to be attached again.
    fn changed(&self, server: &str) {
        let _ = server;
    }

    /// A server asks something in the middle of a call.
    fn ask<'a>(
        &'a self,
        call: Option<&'a CallCtx>,
        question: Elicitation,
    ) -> BoxFuture<'a, Elicited> {
        let _ = (call, question);
        Box::pin(std::future::ready(Elicited::Decline))
    }

    /// A server says how far a call is.
    fn progress(&self, call: &CallCtx, done: f64, total: Option<f64>, message: Option<String>) {
        let _ = (call, done, total, message);
    }
}
