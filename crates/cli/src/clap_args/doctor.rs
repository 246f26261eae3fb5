//! `toolcrib doctor`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const DOCTOR_HELP: &str = "\
Checks the configuration, rules, keys, files and their modes, the database, the daemon, the sandbox, the clock and the disk. Prints a line per \
check, and the remedy of each problem. --fix repairs modes of your files, missing folders, and leftovers of a daemon that crashed.

Exit codes: 0 no check failed (there may be warnings), 1 a check failed, 3 the configuration or the rules are invalid.";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired safely, and report each repair.
    #[arg(long)]
    pub(crate) fix: bool,
    /// Check that the configured providers answer; no key is sent.
    #[arg(long)]
    pub(crate) online: bool,
    /// Workspace whose files are checked too. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}
