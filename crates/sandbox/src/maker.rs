//! What makes the walls around programs.

use serde::{Deserialize, Serialize};

/// What makes the walls around programs of tools: the setting `sandbox.backend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Maker {
    /// We ourselves, with what the system gives.
    #[default]
    Own,
    /// `bwrap`, where ours cannot be had.
    Bubblewrap,
    /// `runsc`: a kernel of its own.
    Gvisor,
}
