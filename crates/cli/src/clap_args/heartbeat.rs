//! `toolcrib heartbeat`.

use clap::Subcommand;

pub(super) const HEARTBEAT_HELP: &str = "\
Examples:
  toolcrib heartbeat show
  toolcrib heartbeat run
  toolcrib config set heartbeat.interval 60
  toolcrib task add Backup \"Check that the backup of tonight is there.\" --on-heartbeat

The daemon (`toolcrib serve`) runs the heartbeat in the channel background.";

#[derive(Debug, Subcommand)]
pub(crate) enum Heartbeat {
    /// Show the heartbeat's schedule and its last five runs.
    Show,
    /// Run the heartbeat now, also outside its hours.
    Run,
    /// Print the prompt that the heartbeat would use now.
    Prompt,
}
