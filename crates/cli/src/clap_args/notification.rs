//! `toolcrib notification`.

use clap::Subcommand;
use toolcrib_core::Urgency;

pub(super) const NOTIFICATION_HELP: &str = "\
Examples:
  toolcrib notification send \"The oven is hot.\" --title Kitchen
  toolcrib notification list
  toolcrib notification dismiss --all

The section [notifications] of the configuration selects the channels: the desktop, an ntfy topic, a webhook. The page shows all notifications.";

#[derive(Debug, Subcommand)]
pub(crate) enum Notification {
    /// List notifications that were not dismissed, newest first.
    List {
        /// Include dismissed notifications.
        #[arg(long)]
        all: bool,
    },
    /// Send yourself a notification, for example to test the channels.
    Send {
        /// The message.
        message: String,
        /// The title. Default: Toolcrib.
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
        /// How devices show it: low, normal or high.
        #[arg(long, value_name = "LEVEL", default_value = "normal")]
        urgency: Urgency,
    },
    /// Dismiss a notification.
    Dismiss {
        /// Id of the notification; a unique prefix is enough.
        #[arg(required_unless_present = "all")]
        id: Option<String>,
        /// Dismiss all notifications.
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
}
