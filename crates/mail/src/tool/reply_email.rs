//! `reply_email`: writes a draft that answers a mail.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Assessment, CallCtx, Tool, ToolError, ToolOutput, ToolSpec};

use super::definition::base_spec;
use super::draft::{MailDraft, assess, make, writes};
use super::mail_tools::MailTools;
use crate::account::MailAccount;
use crate::{mailbox, message};

/// Handler of `reply_email`.
pub(super) struct ReplyEmail(pub(super) MailTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Id or address of the sending account. Default: the only one.
    account_id: Option<String>,
    /// Addresses of recipients, separated by commas.
    to: String,
    /// Subject of the mail that is answered.
    subject: String,
    /// The message, in plain text.
    body: String,
    /// message_id of the mail that is answered, from read_email.
    in_reply_to: Option<String>,
    /// Files: paths of the workspace, or stored results such as art_….
    attachments: Option<Vec<String>>,
    /// Id of an unsent draft of yours that this one replaces; without files it keeps its own.
    draft_id: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "reply_email",
        "Reply to an e-mail",
        "Write a draft that answers a mail, in its thread. Nothing is sent: the user reads the draft and sends it.",
        (
            "Answer that Tuesday is fine",
            json!({"to": "bob@example.org", "subject": "Re: Lunch", "body": "Tuesday is fine.", "in_reply_to": "<1@example.org>"}),
        ),
    );
    writes(&mut spec);
    spec
}

impl Tool for ReplyEmail {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        assess(&self.0, spec, &args.to, &args.subject)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let account = self.0.accounts.find(args.account_id.as_deref())?;
        let thread = match args.in_reply_to.as_deref().map(str::trim) {
            Some(id) if !id.is_empty() => self.thread(&account, id).await?,
            _ => Vec::new(),
        };
        let is_reply = args.subject.trim_start().to_lowercase().starts_with("re:");
        let subject =
            if is_reply { args.subject } else { format!("Re: {}", args.subject.trim_start()) };
        let mail = MailDraft {
            account,
            to: args.to,
            subject,
            body: args.body,
            attachments: args.attachments,
            replaces: args.draft_id,
            thread,
        };
        make(&self.0, ctx, mail).await
    }
}

impl ReplyEmail {
    /// The Message-IDs of the thread. Without the server it is the answered mail alone, which most
    /// programs need to show the thread.
    async fn thread(&self, account: &MailAccount, id: &str) -> Result<Vec<String>, ToolError> {
        let inner = id.trim_start_matches('<').trim_end_matches('>');
        if inner.is_empty() || inner.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(ToolError::validation(
                "in_reply_to is the message_id of a mail, such as <1@example.org>.",
            ));
        }
        let id = format!("<{inner}>");
        let login = self.0.accounts.login(account.clone()).await?;
        let mut thread = match mailbox::thread_of(&login, &id).await {
            Ok(Some(headers)) => message::thread(&headers),
            Ok(None) | Err(_) => Vec::new(),
        };
        if thread.last() != Some(&id) {
            thread.push(id);
        }
        Ok(thread)
    }
}
