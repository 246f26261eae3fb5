//! `toolcrib sandbox install|uninstall|packages`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::shared::parse_net_target;

pub(super) const INSTALL_HELP: &str = "\
Examples:
  toolcrib sandbox install --basic --python
  toolcrib sandbox exec --userland -- cat /etc/os-release

The command downloads about 4 MB and the packages from the first mirror that has them, verifies the archive against the digest and signing key \
in this build, unpacks it in a temporary folder, and moves it into place in one step. Repeat the command to resume an interrupted installation \
or to repair a damaged one. The home folder of programs is kept.

Exit codes: 0 ready; 1 failed, with the reason; 2 usage; 3 there is no folder for the userland.";

pub(super) const UNINSTALL_HELP: &str = "\
Exit codes: 0 removed; 1 a file could not be removed.";

pub(super) const PACKAGES_HELP: &str = "\
Examples:
  toolcrib sandbox packages search json
  toolcrib sandbox packages install jq ripgrep

Alpine's package manager runs in the userland. It verifies packages with Alpine's keys, and can connect to one mirror only.

Exit codes: 0 done; 1 failed, with the reason; 2 a name is invalid; 5 this host cannot run programs in the userland.";

#[derive(Debug, Args)]
pub(crate) struct UserlandInstall {
    /// Also install the usual tools: bash, coreutils, curl, git, jq and others.
    #[arg(long)]
    pub(crate) basic: bool,
    /// Also install Python and pip.
    #[arg(long)]
    pub(crate) python: bool,
    /// Replace an installed userland; its packages are lost.
    #[arg(long)]
    pub(crate) reinstall: bool,
    /// Mirror to use instead of the usual ones, such as https://example.com/alpine; may be
    /// repeated.
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Vec<String>,
    /// Another release than the built-in one, described in a JSON file (docs/userland.md).
    #[arg(long, value_name = "FILE")]
    pub(crate) release: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) network: UserlandNetworkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UserlandUninstall {
    /// Also remove the home folder of programs with its files.
    #[arg(long)]
    pub(crate) home: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UserlandPackages {
    #[command(subcommand)]
    pub(crate) action: PackagesCommand,
    #[command(flatten)]
    pub(crate) network: UserlandNetworkArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PackagesCommand {
    /// List installed packages.
    List,
    /// Search packages by a part of their names.
    Search {
        /// Part of the name.
        word: String,
    },
    /// Install packages with their dependencies.
    Install {
        /// Names of the packages; `NAME=VERSION` selects a version.
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Remove packages, and dependencies that nothing else needs.
    Remove {
        /// Names of the packages.
        #[arg(required = true)]
        names: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct UserlandNetworkArgs {
    /// Target that may be reached although it is not public, such as your own mirror: HOST:PORT,
    /// ADDRESS:PORT or NETWORK/BITS; may be repeated.
    #[arg(long, global = true, value_name = "TARGET", value_delimiter = ',', value_parser = parse_net_target, env = "TOOLCRIB_ALLOW_NET")]
    pub(crate) allow_net: Vec<String>,
}
