//! What the host must have granted before a tool may use it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::call::Context;

/// A capability of the host that a tool needs (the operating-system permissions of seed 001).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Permission {
    /// Read files inside the workspace's roots.
    FsRead,
    /// Change files inside the workspace's roots.
    FsWrite,
    /// Connect to other machines.
    Network,
    /// Start programs.
    Exec,
    /// Reach this host, which the owner's settings do not name: a person is asked about it, whatever rules allow. The call names it in its
    /// argument [`HOSTS_ARGUMENT`].
    Host(String),
    /// Anything else a host or device grants by name, such as `location`.
    Named(String),
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FsRead => "fs_read",
            Self::FsWrite => "fs_write",
            Self::Network => "network",
            Self::Exec => "exec",
            Self::Host(host) => return write!(f, "host {host}"),
            Self::Named(name) => name,
        })
    }
}

/// The argument by which a call names hosts beyond those that are allowed. What is approved for longer than one call is bound to its value:
/// what was said of one host says nothing of others.
pub const HOSTS_ARGUMENT: &str = "hosts";

/// What the host says of a permission at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionState {
    /// Granted.
    Granted,
    /// Nobody has decided: a person must be asked.
    Undecided,
    /// Refused; asking again later may help.
    Denied,
    /// Refused for good ("don't ask again"): only the settings change it.
    DeniedForGood {
        /// How, in words for the person: a command or a place in the settings.
        change: String,
    },
}

/// The host's permissions. Asked before every call, never only the first time (seed 001, permission rule 2).
pub trait Permissions: Send + Sync {
    /// The state of one permission for this context.
    fn state(&self, permission: &Permission, context: &Context) -> PermissionState;
}
