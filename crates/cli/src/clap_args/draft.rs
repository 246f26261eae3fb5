//! `toolcrib draft`.

use clap::{Args, Subcommand};

pub(super) const DRAFT_HELP: &str = "\
Examples:
  toolcrib draft list
  toolcrib draft show draft_019aabc00000000000000000000000a1
  toolcrib draft send draft_019aabc00000000000000000000000a1
  toolcrib draft new webhook --to https://example.org/hook --body '{\"state\":\"done\"}'

Models only write drafts; you send them. `drafts.send_without_asking` in config.toml lists recipients whose drafts are sent without a confirmation.";

#[derive(Debug, Subcommand)]
pub(crate) enum Draft {
    /// List drafts, newest first.
    List {
        /// Only drafts that are neither sent nor discarded.
        #[arg(long)]
        open: bool,
    },
    /// Show a draft.
    Show {
        /// Id of the draft.
        draft: String,
        /// Show what changed since this version, which an earlier `show` printed.
        #[arg(long, value_name = "NUMBER")]
        since: Option<i64>,
    },
    /// Show the versions of a draft, the newest first.
    History {
        /// Id of the draft.
        draft: String,
    },
    /// Write a draft yourself; nothing leaves.
    New(NewDraft),
    /// Edit a draft that was not sent.
    Edit(EditDraft),
    /// Show a draft, and send it after a confirmation.
    Send(SendDraft),
    /// Discard a draft; it can no longer be sent.
    Discard {
        /// Id of the draft.
        draft: String,
    },
}

/// A draft to write.
#[derive(Debug, Args)]
pub(crate) struct NewDraft {
    /// Kind of the draft.
    #[arg(value_parser = ["mail", "webhook", "chat", "sms"])]
    pub(crate) kind: String,
    /// A mail address, which may be repeated, or the one recipient of another kind: a web address,
    /// a person such as telegram:123456789, or a phone number.
    #[arg(long, required = true)]
    pub(crate) to: Vec<String>,
    /// Subject of a mail.
    #[arg(long, default_value = "")]
    pub(crate) subject: String,
    /// Text of a mail, or the posted body of a webhook.
    #[arg(long)]
    pub(crate) body: String,
    /// The account that sends a mail. Default: the only one.
    #[arg(long)]
    pub(crate) account: Option<String>,
}

/// Changes to a draft.
#[derive(Debug, Args)]
pub(crate) struct EditDraft {
    /// Id of the draft.
    pub(crate) draft: String,
    /// Recipient; may be repeated.
    #[arg(long)]
    pub(crate) to: Vec<String>,
    /// Subject.
    #[arg(long)]
    pub(crate) subject: Option<String>,
    /// Text.
    #[arg(long)]
    pub(crate) body: Option<String>,
}

/// The draft to send.
#[derive(Debug, Args)]
pub(crate) struct SendDraft {
    /// Id of the draft.
    pub(crate) draft: String,
    /// Send the version that `show` printed, without a confirmation.
    #[arg(long)]
    pub(crate) shown: Option<i64>,
    /// Send an `unknown` draft again, although it may have been sent already.
    #[arg(long)]
    pub(crate) again: bool,
}
