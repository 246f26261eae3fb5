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

Precedence, highest first: options, environment variables, the file of a trusted workspace, your own file, defaults. Values that \
/etc/toolcrib/config.toml pins cannot be loosened (docs/config.md).";

pub(crate) const TRUST_HELP: &str = "\
Examples:
  toolcrib trust
  toolcrib trust ~/projects/mine --yes
  toolcrib trust --list

The command first shows the tools, rules, hooks and configuration of the workspace. Exit codes: 0 trusted, 2 neither a terminal nor --yes, \
3 the workspace's files are invalid, 5 the answer was no.";

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List all values that are set, across all layers.
    List(ConfigList),
    /// Print one value, or all values of a section.
    Get {
        /// Key, such as limits.rounds.
        key: String,
        #[command(flatten)]
        workspace_args: WorkspaceArgs,
    },
    /// Set a value in your configuration file.
    Set(ConfigSet),
    /// Remove a value from your configuration file.
    Unset(ConfigUnset),
    /// Show the paths of the configuration files, and which exist.
    Path {
        /// Workspace. Default: the current folder.
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Check all configuration files, or one.
    Check {
        /// Path of the file.
        file: Option<PathBuf>,
        /// Workspace. Default: the current folder.
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ConfigList {
    /// Show the file and line of each value.
    #[arg(long)]
    pub(crate) show_origin: bool,
    /// Include default values.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigSet {
    /// Key, such as limits.rounds.
    pub(crate) key: String,
    /// Value as in the file; text needs no quotes. `-` reads standard input, which is required for
    /// keys of providers.
    #[arg(allow_hyphen_values = true)]
    pub(crate) value: String,
    /// Write to the workspace's file (`.toolcrib/config.toml`).
    #[arg(long)]
    pub(crate) project: bool,
    /// Workspace. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigUnset {
    /// Key, such as limits.rounds.
    pub(crate) key: String,
    /// Change the workspace's file (`.toolcrib/config.toml`).
    #[arg(long)]
    pub(crate) project: bool,
    /// Workspace. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Workspace. Default: the current folder.
    #[arg(conflicts_with = "list")]
    pub(crate) dir: Option<PathBuf>,
    /// Only list trusted workspaces.
    #[arg(long)]
    pub(crate) list: bool,
    /// Revoke the trust of this workspace.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dir", "list"])]
    pub(crate) rm: Option<PathBuf>,
    /// Do not ask for confirmation.
    #[arg(long)]
    pub(crate) yes: bool,
}
