//! `toolcrib notification`.

use clap::Subcommand;

pub(super) const NOTIFICATION_HELP: &str = "\
Examples:
  toolcrib notification send \"The oven is hot.\" --title Kitchen
  toolcrib notification list
  toolcrib notification dismiss --all

`[notifications]` of the configuration says where notifications go: the desktop, an ntfy topic, a webhook. All are on the page too.";

#[derive(Debug, Subcommand)]
pub(crate) enum Notification {
    /// List the notifications that were not dismissed, the newest first.
    List {
        /// Also those that were dismissed.
        #[arg(long)]
        all: bool,
    },
    /// Send yourself a notification, such as to test the channels.
    Send {
        /// The message.
        message: String,
        /// The title. Default: Toolcrib.
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
    },
    /// Dismiss a notification.
    Dismiss {
        /// The notification; a beginning of its id that no other has is enough.
        #[arg(required_unless_present = "all")]
        id: Option<String>,
        /// Dismiss all of them.
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
}
