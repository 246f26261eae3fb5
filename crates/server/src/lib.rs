//! The daemon: an HTTP API over a `Toolcrib` and a `Runner`, for any language.
//!
//! Invariants
//! - A call over HTTP goes through [`toolcrib_core::Invoker`] like every other; no other code here
//!   runs a tool.
//! - Every route names the role that may call it ([`Operation`]), and what a token that is limited
//!   to some tools may do there ([`ToolLimit`]).
//! - Host and Origin are checked before everything else, even for errors; requests of foreign pages
//!   are refused.
//! - A slow reader, a dead connection or a client with a burst of requests does not delay other
//!   clients.
//! - Responses, logs and errors contain no secrets and no tokens.
//!
//! The crate reads no command line, no configuration files and no environment variables; a
//! [`DaemonHost`] does.

mod active_requests;
mod admin_audit;
mod admission;
mod allowed_tools;
mod api;
mod channels;
mod conversation_purge;
mod daemon;
mod daemon_host;
mod decision;
mod detach_on_drop;
mod draft_feed;
mod end_notice;
mod folder_watcher;
mod listen;
mod middleware;
mod node;
mod notification_feed;
mod op_context;
mod peer;
mod peer_process;
mod problem;
mod pursuit;
mod role;
mod routes;
mod run_supervisor;
mod runtime;
mod scheduler;
mod settings;
mod start_error;
mod state;
mod telemetry;

pub use api::{Access, BASE, Operation, ToolLimit, document};
pub use daemon::Daemon;
pub use daemon_host::{DaemonHost, HostError, McpServerFiles, RunRequest};
pub use folder_watcher::FolderWatcher;
pub use listen::{DaemonAddress, SOCKET_PATH_BYTES};
pub use node::{Node, NodeTools};
pub use problem::{Code, Problem};
pub use role::{Person, Principal, Role, Roles};
pub use routes::operations;
pub use runtime::runtime;
pub use settings::{DaemonSettings, Listen};
pub use start_error::StartError;
pub use telemetry::{Attribute, FinishedSpan, SpanContext, SpanKind, SpanSink, Telemetry};
#[cfg(feature = "otlp")]
pub use telemetry::{Otlp, OtlpError, OtlpSettings};
pub use toolcrib_ops::settings::{Reloaded, SettingRow};
