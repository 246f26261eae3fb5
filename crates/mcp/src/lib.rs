//! MCP both ways: servers of others as sources of our tools (`client`), and our door as a server for others (`server`).
//!
//! Invariants
//! - A tool of a server is a [`toolcrib_core::Handler`] in a [`toolcrib_core::Source`]; it is reached through the door and in no other way.
//! - What a server says of its tools may make them look worse, never better, and is held until reviewed when it changes.
//! - A call that may have changed something is sent once. When its answer is lost, its outcome is unknown.
//! - A client of ours is a caller like every other: it sees a view, and each of its calls passes the door.
//!
//! Absent on purpose: the engine, a configuration file, the environment, sampling (deprecated; refused in words), roots.

pub mod client;
mod contents;
pub mod desk;
mod lines;
pub mod server;

/// The library underneath, for tests and examples that speak the protocol themselves.
#[doc(hidden)]
pub use rmcp;
