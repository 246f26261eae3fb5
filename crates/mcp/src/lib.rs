//! MCP in both directions: remote servers as sources of tools (`client`), and Toolcrib as a server
//! for other programs (`server`).
//!
//! Invariants
//! - A remote tool is a [`toolcrib_core::Handler`] in a [`toolcrib_core::Source`]; it is called
//!   through the pipeline only.
//! - A server's claims about its tools may make them look riskier, never safer; changed definitions
//!   are held until reviewed.
//! - A call that may have changed something is sent once. If its response is lost, its outcome is
//!   unknown.
//! - A client is a caller like any other: it sees a view, and each of its calls goes through the
//!   pipeline.
//!
//! Out of scope: the engine, configuration files, the environment, sampling (deprecated; refused
//! with an explanation), roots.

pub mod client;
pub mod client_channel;
mod resource_contents;
pub mod server;
mod stdio;

/// The underlying library, for tests and examples that use the protocol directly.
#[doc(hidden)]
pub use rmcp;
