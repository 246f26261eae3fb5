//! `toolcrib chain`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::shared::LibraryArgs;

pub(crate) const CHAIN_HELP: &str = "\
Examples:
  toolcrib chain save count_lines count_lines.py --description \"Count the lines of some files\"
  toolcrib chain list
  toolcrib chain show count_lines
  toolcrib tool call count_lines --args '{\"paths\": [\"notes.md\"]}'
  toolcrib chain rm count_lines

A script that is kept is a tool; its arguments are the value `args`. A daemon takes changes up within a second. docs/code-mode.md says what its first \
lines may say.

Exit codes: 0 done; 2 it cannot be kept like this; 4 there is no such script.";

#[derive(Debug, Subcommand)]
pub(crate) enum Chain {
    /// Keep a script as a tool.
    Save(ChainSave),
    /// List the scripts that are kept.
    List(LibraryArgs),
    /// Show the text of one.
    Show {
        /// The script.
        name: String,
        #[command(flatten)]
        library_args: LibraryArgs,
    },
    /// Remove one.
    Rm(ChainRemove),
}

#[derive(Debug, Args)]
pub(crate) struct ChainSave {
    /// Name of the tool: small letters, digits and `_`.
    pub(crate) name: String,
    /// The script; `-` reads standard input.
    pub(crate) file: PathBuf,
    /// What it does, for the model, where the script does not say so itself.
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Keep it for all workspaces, in the configuration folder.
    #[arg(long)]
    pub(crate) global: bool,
    #[command(flatten)]
    pub(crate) library_args: LibraryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ChainRemove {
    /// The script.
    pub(crate) name: String,
    /// The one that is kept for all workspaces.
    #[arg(long)]
    pub(crate) global: bool,
    #[command(flatten)]
    pub(crate) library_args: LibraryArgs,
}
