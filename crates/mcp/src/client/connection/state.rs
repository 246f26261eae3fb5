//! State of a connection.

use std::fmt;

use serde::Serialize;

/// State of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ConnectionState {
    /// Not connected: the server was never called, or not for a while.
    Idle,
    /// Being started or connected.
    Connecting,
    /// Connected.
    Connected {
        /// The name that the server reports.
        server: String,
        /// The negotiated protocol revision.
        protocol: String,
    },
    /// A person must authorize first: `toolcrib mcp auth`.
    NeedsAuthorization {
        /// Name of the server.
        name: String,
    },
    /// Cannot be reached.
    Error {
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for ConnectionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.write_str("idle"),
            Self::Connecting => f.write_str("connecting"),
            Self::Connected { server, protocol } => write!(f, "connected to {server} ({protocol})"),
            Self::NeedsAuthorization { name } => {
                write!(f, "needs authorization: run `toolcrib mcp auth {name}`")
            }
            Self::Error { reason } => write!(f, "error: {reason}"),
        }
    }
}
