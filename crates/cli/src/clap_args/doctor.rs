//! `toolcrib doctor`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const DOCTOR_HELP: &str = "\
Looks at configuration, rules, keys, files and their modes, the database, the daemon, the sandbox, the clock and the disk; a line for each, and \
what to do where something is wrong. --fix repairs what is safe: modes of your files, missing folders, what a dead daemon left.

Exit codes: 0 nothing fails (there may be warnings), 1 something does not work, 3 the configuration or the rules cannot be used.";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Repair what is safe to repair, and say what was.
    #[arg(long)]
    pub(crate) fix: bool,
    /// Ask the providers that are set up whether they answer; no key is sent.
    #[arg(long)]
    pub(crate) online: bool,
    /// Workspace whose files count too. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}
