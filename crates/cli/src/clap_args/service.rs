//! `toolcrib daemon service`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) const SERVICE_HELP: &str = "\
Examples:
  toolcrib daemon service install --workspace ~/projects/mine
  toolcrib daemon service install --print
  toolcrib daemon service logs --follow

The daemon is a service of your own user: systemd (`systemctl --user`) on Linux, launchd on macOS. For it to run while you are not logged in: \
`loginctl enable-linger`.";

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Write the service's file, and let the system start it now and with every session.
    Install(ServiceInstall),
    /// Stop it and take its file away. What is kept of you stays.
    Uninstall,
    /// Say what the system knows of it.
    Status,
    /// Start it.
    Start,
    /// Stop it, until the next session.
    Stop,
    /// Show what it has said.
    Logs {
        /// So many lines.
        #[arg(long, value_name = "N", default_value_t = 100)]
        lines: u32,
        /// Go on with what it says from now on.
        #[arg(long)]
        follow: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServiceInstall {
    /// Folder that its tools work in. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Only print the file.
    #[arg(long)]
    pub(crate) print: bool,
    /// Write over a file that is there.
    #[arg(long)]
    pub(crate) force: bool,
}
