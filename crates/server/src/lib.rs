//! The daemon: the door over HTTP, for any language.
//!
//! Invariants
//! - A call that comes in over HTTP goes through [`toolcrib_app::core::Invoker`] like every other; nothing here runs a tool.
//! - Every route says who may call it ([`Operation`]); there is no way to add one that does not.
//! - Host and Origin are checked in front of everything, errors included; nothing is answered to a page of somebody else.
//! - A slow reader, a dead connection or a greedy client delays nobody else.
//! - No secret and no token stands in an answer, a log or an error.
//!
//! Absent on purpose: the command line, files of configuration, the environment: the [`Host`] knows them.

mod api;
mod daemon;
mod door;
mod goes_on;
mod host;
mod listen;
mod live;
mod observe;
mod problem;
mod record;
mod role;
mod routes;
mod runtime;
mod settings;
mod turnstile;
mod work;

pub use api::{Access, BASE, Operation, document};
pub use daemon::{Daemon, StartError};
pub use host::{Host, HostError, Reloaded, RunWish, SettingRow};
pub use listen::{Address, SOCKET_PATH_BYTES};
pub use observe::{Attribute, FinishedSpan, Observe, SpanContext, SpanKind, SpanSink};
#[cfg(feature = "otlp")]
pub use observe::{Otlp, OtlpError, OtlpSettings};
pub use problem::{Code, Problem};
pub use role::{Principal, Role, Roles};
pub use routes::operations;
pub use runtime::runtime;
pub use settings::{DaemonSettings, Listen};
