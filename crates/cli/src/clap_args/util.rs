//! `toolcrib util`: documents about the program itself.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Util {
    /// Print the OpenAPI document of the daemon's REST interface; no daemon needs to run.
    Openapi,
    /// Print the table of errors: outcome, HTTP status, exit code.
    Errors,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page per command into a folder.
    #[command(after_help = "Examples:\n  toolcrib util man\n  toolcrib util man ./man")]
    Man {
        /// Folder for the pages. Default: print the page of `toolcrib` itself.
        #[arg(value_name = "FOLDER", conflicts_with = "dir")]
        folder: Option<PathBuf>,
        /// Deprecated form of FOLDER.
        #[arg(long, hide = true)]
        dir: Option<PathBuf>,
    },
}
