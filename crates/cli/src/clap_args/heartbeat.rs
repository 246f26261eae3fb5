//! `toolcrib heartbeat`.

use clap::Subcommand;
use toolcrib_ops::heartbeat::ArrivalKind;

pub(super) const HEARTBEAT_HELP: &str = "\
Examples:
  toolcrib heartbeat show
  toolcrib heartbeat run
  toolcrib heartbeat tell \"You paid 12.00.\" --from Bank
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
    /// Hand a message or notification of another program to the next heartbeat.
    Tell {
        /// The text.
        text: String,
        /// The person or program that it is from.
        #[arg(long, value_name = "NAME")]
        from: String,
        /// The title.
        #[arg(long, value_name = "TEXT", default_value = "")]
        title: String,
        /// Whether it is a message or a notification.
        #[arg(long, value_name = "KIND", default_value = "notification")]
        kind: ArrivalKind,
    },
}
