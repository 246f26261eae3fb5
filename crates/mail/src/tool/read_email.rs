//! `read_email`: one mail as text.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Assessment, CallCtx, Effect, Tool, ToolError, ToolOutput, ToolSpec};

use super::definition::base_spec;
use super::mail_tools::{MailTools, from_mail};
use crate::{mailbox, message};

/// Handler of `read_email`.
pub(super) struct ReadEmail(pub(super) MailTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Number of the mail, from check_email or search_email.
    uid: u32,
    /// Id or address of the account. Default: the only one.
    account_id: Option<String>,
    /// Whether the mail counts as read. Default: true.
    mark_read: Option<bool>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "read_email",
        "Read an e-mail",
        "Read a mail of the inbox as text; HTML without remote content. Marks it as read.",
        ("Read me that mail", json!({"uid": 4711})),
    );
    spec.effect = Effect::Idempotent;
    spec
}

impl Tool for ReadEmail {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let mut assessment = Assessment::from_spec(spec);
        if args.mark_read == Some(false) {
            assessment.effect = Effect::Read;
        }
        Ok(assessment.with_summary(format!("read mail {}", args.uid)))
    }

    async fn call(&self, _: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let login = self.0.accounts.login(self.0.accounts.find(args.account_id.as_deref())?)?;
        let raw = mailbox::read(&login, args.uid, args.mark_read.unwrap_or(true)).await?;
        let (cut, size) = (raw.cut, raw.size);
        // A large mail takes a while to decode.
        let parsed = tokio::task::spawn_blocking(move || message::parse(&raw.bytes)).await;
        let mail = parsed.map_err(|error| {
            ToolError::execution("The mail cannot be read.").with_detail(error.to_string())
        })?;
        let mut answer = json!(mail);
        if cut {
            answer["warning"] = json!(format!(
                "The mail has {size} bytes; only the first {} MB were read.",
                mailbox::MAX_MESSAGE >> 20
            ));
        }
        Ok(from_mail(answer, &login.account.address))
    }
}
