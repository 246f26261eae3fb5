//! `compose_email`: writes a draft of a mail.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Assessment, CallCtx, Tool, ToolError, ToolOutput, ToolSpec};

use super::definition::base_spec;
use super::draft::{MailDraft, assess, make, writes};
use super::mail_tools::MailTools;

/// Handler of `compose_email`.
pub(super) struct ComposeEmail(pub(super) MailTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Id or address of the sending account. Default: the only one.
    account_id: Option<String>,
    /// Addresses of recipients, separated by commas.
    to: String,
    /// Subject.
    subject: String,
    /// The message, in plain text.
    body: String,
    /// Files: paths of the workspace, or stored results such as art_….
    attachments: Option<Vec<String>>,
    /// Id of an unsent draft of yours that this one replaces; without files it keeps its own.
    draft_id: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "compose_email",
        "Write an e-mail",
        "Write a draft of a mail. Nothing is sent: the user reads the draft and sends it.",
        (
            "Write Bob that I am late",
            json!({"to": "bob@example.org", "subject": "Late", "body": "Hi Bob,\n\nI will be ten minutes late."}),
        ),
    );
    writes(&mut spec);
    spec
}

impl Tool for ComposeEmail {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        assess(&self.0, spec, &args.to, &args.subject)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let account = self.0.accounts.find(args.account_id.as_deref())?;
        let mail = MailDraft {
            account,
            to: args.to,
            subject: args.subject,
            body: args.body,
            attachments: args.attachments,
            replaces: args.draft_id,
            thread: Vec::new(),
        };
        make(&self.0, ctx, mail).await
    }
}
