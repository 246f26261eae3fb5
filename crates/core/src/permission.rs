//! Permissions: capabilities of the host that a tool must be granted before use.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::call::Context;

/// A capability of the host that a tool needs.
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
    /// Connect to a host that the owner's settings do not allow. It always needs an approval,
    /// whatever rules allow. The call names the host in one of its [`HOST_ARGUMENTS`].
    Host(String),
    /// Change a file that another program executes on its own; the text names both. It always needs
    /// an approval, whatever rules, grants and presets allow.
    ExecutedFile(String),
    /// Any other permission that a host or device grants by name, such as `location`.
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
            Self::ExecutedFile(what) => return write!(f, "executed file {what}"),
            Self::Named(name) => name,
        })
    }
}

/// The arguments in which a call names hosts beyond the allowed ones. An approval for longer than
/// one call is bound to their values: an approval for one host does not cover others.
pub const HOST_ARGUMENTS: [&str; 2] = ["hosts", "url"];

/// Current state of a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionState {
    /// Granted.
    Granted,
    /// Undecided: a person must be asked.
    Undecided,
    /// Denied; asking again later can help.
    Denied,
    /// Denied permanently ("don't ask again"): only the settings can change it.
    DeniedForGood {
        /// How to change it, for the person: a command or a setting.
        change: String,
    },
}

/// The host's permissions. Queried before every call, because a permission can be revoked at any
/// time.
pub trait Permissions: Send + Sync {
    /// Returns the state of one permission for this context.
    fn state(&self, permission: &Permission, context: &Context) -> PermissionState;
}
