//! `toolcrib sandbox install|uninstall|packages`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::shared::parse_net_target;

pub(super) const INSTALL_HELP: &str = "\
Examples:
  toolcrib sandbox install --basic --python
  toolcrib sandbox exec --userland -- cat /etc/os-release

About 4 MB and the packages are fetched from the first mirror that has them, the archive is compared with the digest and the \
signing key that this build knows, unpacked beside the place of the userland and moved there in one step. What broke off is gone on with by the \
same command; what is broken is replaced. The home folder of programs stays as it is.

Exit codes: 0 it is ready; 1 it is not, and why; 2 a word is wrong; 3 there is no place for it.";

pub(super) const UNINSTALL_HELP: &str = "\
Exit codes: 0 there is none any more; 1 something could not be removed.";

pub(super) const PACKAGES_HELP: &str = "\
Examples:
  toolcrib sandbox packages search json
  toolcrib sandbox packages install jq ripgrep

Alpine's own package manager does it, in the userland. It checks what it installs with Alpine's keys, and reaches one mirror and nothing else.

Exit codes: 0 done; 1 it failed, and why; 2 a name is wrong; 5 this host cannot run programs in the userland.";

#[derive(Debug, Args)]
pub(crate) struct UserlandInstall {
    /// Install the usual tools too: bash, coreutils, curl, git, jq and others.
    #[arg(long)]
    pub(crate) basic: bool,
    /// Install Python and pip too.
    #[arg(long)]
    pub(crate) python: bool,
    /// Install a new one in place of one that is ready; its packages are gone then.
    #[arg(long)]
    pub(crate) reinstall: bool,
    /// Mirror to use in place of the usual ones, such as https://example.com/alpine; may be
    /// repeated.
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Vec<String>,
    /// Another release than that of this build, described in a JSON file (docs/userland.md).
    #[arg(long, value_name = "FILE")]
    pub(crate) release: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) network: UserlandNetworkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UserlandUninstall {
    /// Remove the home folder of programs too, with what they left in it.
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
    /// List what is installed.
    List,
    /// Look for packages by a part of their names.
    Search {
        /// The part.
        word: String,
    },
    /// Install packages, with what they need.
    Install {
        /// Their names; `NAME=VERSION` for a certain version.
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Remove packages, with what was installed for them alone.
    Remove {
        /// Their names.
        #[arg(required = true)]
        names: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct UserlandNetworkArgs {
    /// Target that may be reached although it is not public, such as a mirror of your own:
    /// HOST:PORT, ADDRESS:PORT or NETWORK/BITS; may be repeated.
    #[arg(long, global = true, value_name = "TARGET", value_delimiter = ',', value_parser = parse_net_target, env = "TOOLCRIB_ALLOW_NET")]
    pub(crate) allow_net: Vec<String>,
}
