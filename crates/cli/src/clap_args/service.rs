//! `toolcrib daemon service`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) const SERVICE_HELP: &str = "\
Examples:
  toolcrib daemon service install --workspace ~/projects/mine
  toolcrib daemon service install --print
  toolcrib daemon service logs --follow

The daemon becomes a service of your user: systemd (`systemctl --user`) on Linux, launchd on macOS. To keep it running while you are not logged \
in: `loginctl enable-linger`.";

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Install the service, and start it now and at every login.
    Install(ServiceInstall),
    /// Stop the service and remove it. Your data remains.
    Uninstall,
    /// Show the state of the service.
    Status,
    /// Start the service.
    Start,
    /// Stop the service until the next login.
    Stop,
    /// Show the log of the service.
    Logs {
        /// Number of lines.
        #[arg(long, value_name = "N", default_value_t = 100)]
        lines: u32,
        /// Follow the log.
        #[arg(long)]
        follow: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServiceInstall {
    /// Workspace of the daemon. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Only print the file of the service.
    #[arg(long)]
    pub(crate) print: bool,
    /// Overwrite an existing file.
    #[arg(long)]
    pub(crate) force: bool,
}
