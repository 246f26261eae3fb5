//! `toolcrib conversation`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Conversation {
    /// List conversations, those with the newest messages first.
    List {
        /// Most that are listed.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=10_000))]
        limit: u16,
    },
    /// Show a conversation with what was said in it.
    Show {
        /// The conversation; a beginning of its id that no other has is enough.
        id: String,
    },
    /// Delete a conversation: its messages and its runs are gone, and what programs still do for it
    /// ends.
    #[command(
        after_help = "Its calls stay in the history and in the audit, stored results until they expire. Where a daemon runs, it does this.\n\nExit codes: 0 it is gone, 2 one of its runs is not over (stop it first), 4 there is no such conversation."
    )]
    Delete {
        /// The conversation; a beginning of its id that no other has is enough.
        id: String,
    },
}
