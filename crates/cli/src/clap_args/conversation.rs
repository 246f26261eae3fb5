//! `toolcrib conversation`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Conversation {
    /// List conversations, the one with the newest message first.
    List {
        /// Maximum number to list.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=10_000))]
        limit: u16,
        /// List deleted conversations instead, most recently deleted first.
        #[arg(long)]
        deleted: bool,
    },
    /// Show a conversation with its messages.
    Show {
        /// Id of the conversation; a unique prefix is enough.
        id: String,
    },
    /// Delete a conversation with its messages and runs, and stop the programs that still work for
    /// it. It can be restored for 30 days.
    #[command(
        after_help = "Calls remain in the history and the audit log, artifacts until they expire. If a daemon is running, it carries out the deletion.\n\nExit codes: 0 deleted, 2 one of its runs has not ended (stop it first), 4 the conversation does not exist."
    )]
    Delete {
        /// Id of the conversation; a unique prefix is enough.
        id: String,
        /// Delete it for good, even if it is deleted already.
        #[arg(long)]
        forever: bool,
    },
    /// Restore a deleted conversation with its messages and runs.
    #[command(
        after_help = "`toolcrib conversation list --deleted` lists what can be restored.\n\nExit codes: 0 restored, 4 no deleted conversation has this id."
    )]
    Restore {
        /// Id of the conversation; a unique prefix is enough.
        id: String,
    },
}
