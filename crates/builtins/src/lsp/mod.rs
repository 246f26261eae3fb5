//! Code intelligence: language servers, one per language and project, started on first use and kept
//! running.
//!
//! A server is an external program that runs code of the project (build scripts, macros, plug-ins).
//! It runs in the sandbox with a read-only workspace and no network. Its output is bounded and
//! treated as untrusted data. A server that dies, hangs, floods or sends invalid messages fails the
//! current call and is restarted by the next one.

mod connection;
mod framing;
mod languages;
mod manager;
mod parse_response;
mod position;
mod query;
mod render;
mod server_session;

pub(crate) use manager::Servers;
pub(crate) use query::{Action, Query};
pub(crate) use render::display_path;
