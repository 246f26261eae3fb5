//! `toolcrib heartbeat`.

use clap::Subcommand;

pub(super) const HEARTBEAT_HELP: &str = "\
Examples:
  toolcrib heartbeat show
  toolcrib heartbeat run
  toolcrib config set heartbeat.interval 60
  toolcrib task add Backup \"Check that the backup of tonight is there.\" --on-heartbeat

A daemon (`toolcrib serve`) runs it, in the channel background.";

#[derive(Debug, Subcommand)]
pub(crate) enum Heartbeat {
    /// Show when it runs, and its last five runs.
    Show,
    /// Let the daemon run it now, outside of its hours too.
    Run,
    /// Print what it would ask now.
    Prompt,
}
