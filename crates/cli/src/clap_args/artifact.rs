//! `toolcrib artifact`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Artifact {
    /// List stored results, the newest first.
    List {
        /// Most that are listed.
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Show what is known of a stored result.
    #[command(
        after_help = "Examples:\n  toolcrib artifact show art_0193…\n  toolcrib artifact show art_0193… --content > page.html"
    )]
    Show {
        /// The stored result; a beginning of its name that no other has is enough.
        id: String,
        /// Print the stored bytes instead, exactly as they are.
        #[arg(long)]
        content: bool,
    },
    /// Remove a stored result. References to it can no longer be read.
    Rm {
        /// The stored result; a beginning of its name that no other has is enough.
        id: String,
    },
}
