//! `toolcrib stop-tools`.

use clap::Args;

pub(crate) const STOP_TOOLS_HELP: &str = "\
Examples:
  toolcrib stop-tools --reason \"it deletes the wrong files\"
  toolcrib start-tools

No call begins from now on, in any process; what is at work is stopped too where a daemon runs. It is written in the store and as the file \
STOP in the state folder: either of them is enough, and making that file by hand does the same. `toolcrib tool disable --all` does so too. \
It stays until `toolcrib start-tools`.";

#[derive(Debug, Args)]
pub(crate) struct StopTools {
    /// Reason, shown to everyone whose call is refused.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Let calls that are at work run to their end.
    #[arg(long)]
    pub(crate) finish_running: bool,
}
