//! `toolcrib channel`.

use clap::{Args, Subcommand};

pub(super) const CHANNEL_HELP: &str = "\
Examples:
  toolcrib channel add telegram --owner 123456789
  toolcrib channel add matrix --base-url https://matrix.example.org --owner @ann:example.org
  toolcrib channel show telegram
  toolcrib channel allow telegram 987654321

Type the token at the terminal, without echo, or pass it on standard input. The vault stores it. A running daemon (`toolcrib serve`) receives and answers the messages.";

#[derive(Debug, Subcommand)]
pub(crate) enum Channel {
    /// Add a channel: ask the service who the token belongs to, then save it.
    Add(AddChannel),
    /// List channels.
    List,
    /// Show a channel: its people, and those who asked to talk.
    Show {
        /// Name of the channel.
        channel: String,
    },
    /// Test the token of a channel.
    Test {
        /// Name of the channel.
        channel: String,
    },
    /// Change the settings of a channel.
    Set(SetChannel),
    /// Put a person on the list of a channel, or take them from it.
    Allow {
        /// Name of the channel.
        channel: String,
        /// Id of the person at the service.
        user: String,
        /// The person is you: the messages are not treated as text from outside.
        #[arg(long, conflicts_with = "remove")]
        owner: bool,
        /// Take the person from the list.
        #[arg(long)]
        remove: bool,
    },
    /// Show the last events of a channel, newest first.
    Log {
        /// Name of the channel.
        channel: String,
    },
    /// Remove a channel, its token and its state.
    Remove {
        /// Name of the channel.
        channel: String,
    },
}

/// The channel to add.
#[derive(Debug, Args)]
pub(crate) struct AddChannel {
    /// The service.
    #[arg(value_parser = ["telegram", "matrix"])]
    pub(crate) kind: String,
    /// Name of the channel. Default: the service.
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// Address of the service; required for Matrix.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Id of a person who may write to it; may be repeated.
    #[arg(long, value_name = "USER")]
    pub(crate) allow: Vec<String>,
    /// Your own id: you may write to it, and your messages are not treated as text from outside.
    #[arg(long, value_name = "USER")]
    pub(crate) owner: Option<String>,
    /// The agent that answers. Default: the configured one.
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// Let the people on its list decide approvals of their own conversation.
    #[arg(long)]
    pub(crate) may_approve: bool,
}

/// The settings to change.
#[derive(Debug, Args)]
pub(crate) struct SetChannel {
    /// Name of the channel.
    pub(crate) channel: String,
    /// Whether it receives and answers.
    #[arg(long)]
    pub(crate) enabled: Option<bool>,
    /// Whether the people on its list may decide approvals of their own conversation.
    #[arg(long)]
    pub(crate) may_approve: Option<bool>,
    /// The agent that answers; an empty text selects the configured one.
    #[arg(long)]
    pub(crate) agent: Option<String>,
}
