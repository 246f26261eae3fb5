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

A saved script is a tool; its arguments are the value `args`. The daemon loads changes within a second. docs/code-mode.md describes the metadata \
in its first lines.

Exit codes: 0 done; 2 the script is invalid; 4 the script does not exist.";

#[derive(Debug, Subcommand)]
pub(crate) enum Chain {
    /// Save a script as a tool.
    Save(ChainSave),
    /// List saved scripts.
    List(LibraryArgs),
    /// Show the text of a script.
    Show {
        /// Name of the script.
        name: String,
        #[command(flatten)]
        library_args: LibraryArgs,
    },
    /// Remove a script.
    Rm(ChainRemove),
}

#[derive(Debug, Args)]
pub(crate) struct ChainSave {
    /// Name of the tool: lower-case letters, digits and `_`.
    pub(crate) name: String,
    /// File of the script; `-` reads standard input.
    pub(crate) file: PathBuf,
    /// Description for the model, if the script has none.
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Save for all workspaces, in the configuration folder.
    #[arg(long)]
    pub(crate) global: bool,
    #[command(flatten)]
    pub(crate) library_args: LibraryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ChainRemove {
    /// Name of the script.
    pub(crate) name: String,
    /// Remove the script that is saved for all workspaces.
    #[arg(long)]
    pub(crate) global: bool,
    #[command(flatten)]
    pub(crate) library_args: LibraryArgs,
}
