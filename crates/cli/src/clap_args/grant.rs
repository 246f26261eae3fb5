//! `toolcrib grant`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Grant {
    /// List remembered approvals, oldest first.
    List,
    /// Show a remembered approval, and the past calls that it would have matched.
    Show {
        /// Id of the remembered approval; a unique prefix is enough.
        id: String,
    },
    /// Revoke a remembered approval: such calls require a decision again.
    Revoke {
        /// Id of the remembered approval; a unique prefix is enough.
        id: String,
    },
}
