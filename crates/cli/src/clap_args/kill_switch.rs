//! `toolcrib stop-tools`.

use clap::Args;

pub(crate) const STOP_TOOLS_HELP: &str = "\
Examples:
  toolcrib stop-tools --reason \"it deletes the wrong files\"
  toolcrib start-tools

No process starts a call any more, and a running daemon stops its running calls. The switch is stored in the database and as the file STOP in \
the state folder; either is sufficient, so creating that file by hand has the same effect. `toolcrib tool disable --all` is the same command. \
The switch stays engaged until `toolcrib start-tools`.";

#[derive(Debug, Args)]
pub(crate) struct StopTools {
    /// Reason, shown with every refused call.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Let running calls finish.
    #[arg(long)]
    pub(crate) finish_running: bool,
}
