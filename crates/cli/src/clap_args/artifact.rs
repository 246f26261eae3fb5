//! `toolcrib artifact`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Artifact {
    /// List artifacts, newest first.
    List {
        /// Maximum number to list.
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Show the metadata of an artifact.
    #[command(
        after_help = "Examples:\n  toolcrib artifact show art_0193…\n  toolcrib artifact show art_0193… --content > page.html"
    )]
    Show {
        /// Id of the artifact; a unique prefix is enough.
        id: String,
        /// Print the stored bytes unchanged instead.
        #[arg(long)]
        content: bool,
    },
    /// Remove an artifact. References to it can no longer be read.
    Rm {
        /// Id of the artifact; a unique prefix is enough.
        id: String,
    },
}
