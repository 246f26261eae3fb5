//! `toolcrib draft`.

use clap::{Args, Subcommand};

pub(super) const DRAFT_HELP: &str = "\
Examples:
  toolcrib draft list
  toolcrib draft show draft_019aabc00000000000000000000000a1
  toolcrib draft send draft_019aabc00000000000000000000000a1
  toolcrib draft new webhook --to https://example.org/hook --body '{"state":"done"}'

Models write drafts; nothing leaves until you send it. `drafts.send_without_asking` in config.toml names recipients that need no question.";

#[derive(Debug, Subcommand)]
pub(crate) enum Draft {
    /// List the drafts, the newest first.
    List {
        /// Only those that wait for you: not sent and not discarded.
        #[arg(long)]
        open: bool,
    },
    /// Show one draft.
    Show {
        /// Its id.
        draft: String,
        /// Show what changed since this version, which an earlier `show` printed.
        #[arg(long, value_name = "NUMBER")]
        since: Option<i64>,
    },
    /// Show the versions of a draft, the newest first.
    History {
        /// Its id.
        draft: String,
    },
    /// Write a draft yourself; nothing leaves.
    New(NewDraft),
    /// Change a draft that has not left.
    Edit(EditDraft),
    /// Show a draft and send it.
    Send(SendDraft),
    /// Discard a draft: it cannot leave any more.
    Discard {
        /// Its id.
        draft: String,
    },
}

/// A draft to write.
#[derive(Debug, Args)]
pub(crate) struct NewDraft {
    /// What it is.
    #[arg(value_parser = ["mail", "webhook"])]
    pub(crate) kind: String,
    /// A mail address, which may be repeated, or the one web address of a webhook.
    #[arg(long, required = true)]
    pub(crate) to: Vec<String>,
    /// Its subject, of a mail.
    #[arg(long, default_value = "")]
    pub(crate) subject: String,
    /// Its text; of a webhook what is posted.
    #[arg(long)]
    pub(crate) body: String,
    /// The account that sends a mail. Default: the only one.
    #[arg(long)]
    pub(crate) account: Option<String>,
}

/// What is changed of a draft.
#[derive(Debug, Args)]
pub(crate) struct EditDraft {
    /// Its id.
    pub(crate) draft: String,
    /// A recipient; may be repeated.
    #[arg(long)]
    pub(crate) to: Vec<String>,
    /// Its subject.
    #[arg(long)]
    pub(crate) subject: Option<String>,
    /// Its text.
    #[arg(long)]
    pub(crate) body: Option<String>,
}

/// A draft to send.
#[derive(Debug, Args)]
pub(crate) struct SendDraft {
    /// Its id.
    pub(crate) draft: String,
    /// Send the version that `show` showed, without a question.
    #[arg(long)]
    pub(crate) shown: Option<i64>,
    /// Send one that is `unknown` once more, although it may have left.
    #[arg(long)]
    pub(crate) again: bool,
}
