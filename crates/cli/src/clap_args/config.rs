//! `toolcrib config` and `toolcrib trust`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::shared::WorkspaceArgs;

pub(crate) const CONFIG_HELP: &str = "\
Examples:
  toolcrib config list --show-origin
  toolcrib config set limits.calls 100
  toolcrib config set tools.delete_file.ask true --project
  toolcrib config set providers.acme.key - < key.txt
  toolcrib config check

Flags go before variables, these before the file of a trusted workspace, that before your own file, that before the defaults; what \
/etc/toolcrib/config.toml pins cannot be loosened (docs/config.md).";

pub(crate) const TRUST_HELP: &str = "\
Examples:
  toolcrib trust
  toolcrib trust ~/projects/mine --yes
  toolcrib trust --list

What the workspace brings along is shown first. Exit codes: 0 it is trusted, 2 no terminal to ask on and --yes is not given, 3 its files \
are broken, 5 the answer was no.";

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List what is set, all layers together.
    List(ConfigList),
    /// Print one value, or all of a section.
    Get {
        /// The key, such as limits.rounds.
        key: String,
        #[command(flatten)]
        workspace_args: WorkspaceArgs,
    },
    /// Set a value in your own file.
    Set(ConfigSet),
    /// Take a value out of your own file.
    Unset(ConfigUnset),
    /// Show the files that are read, and whether they are there.
    Path {
        /// Workspace. Default: the current folder.
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Check all files, or one.
    Check {
        /// The file.
        file: Option<PathBuf>,
        /// Workspace. Default: the current folder.
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ConfigList {
    /// Show where each value is written.
    #[arg(long)]
    pub(crate) show_origin: bool,
    /// List defaults too.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigSet {
    /// The key, such as limits.rounds.
    pub(crate) key: String,
    /// The value, as in the file; text needs no quotes. `-` reads it from standard input, which
    /// keys of providers have to be.
    #[arg(allow_hyphen_values = true)]
    pub(crate) value: String,
    /// In the file of the workspace (`.toolcrib/config.toml`).
    #[arg(long)]
    pub(crate) project: bool,
    /// Workspace. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigUnset {
    /// The key, such as limits.rounds.
    pub(crate) key: String,
    /// In the file of the workspace (`.toolcrib/config.toml`).
    #[arg(long)]
    pub(crate) project: bool,
    /// Workspace. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The workspace. Default: the current folder.
    #[arg(conflicts_with = "list")]
    pub(crate) dir: Option<PathBuf>,
    /// Only list the workspaces that are trusted.
    #[arg(long)]
    pub(crate) list: bool,
    /// Trust this workspace no longer.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dir", "list"])]
    pub(crate) rm: Option<PathBuf>,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
}
