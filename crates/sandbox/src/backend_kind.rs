//! Sandbox backend setting (`sandbox.backend`).

use serde::{Deserialize, Serialize};

/// The program that creates the sandbox: the setting `sandbox.backend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendKind {
    /// Built in, using kernel features directly.
    #[default]
    Own,
    /// `bwrap`, for hosts that do not allow the built-in backend.
    Bubblewrap,
    /// `runsc`, with its own kernel.
    Gvisor,
}
