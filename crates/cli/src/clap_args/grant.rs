//! `toolcrib grant`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Grant {
    /// List the remembered approvals, the oldest first.
    List,
    /// Show one remembered approval, with the past calls that it would have matched.
    Show {
        /// The remembered approval; a beginning of its id that no other has is enough.
        id: String,
    },
    /// Take one back: calls like those are asked about again.
    Revoke {
        /// The remembered approval; a beginning of its id that no other has is enough.
        id: String,
    },
}
