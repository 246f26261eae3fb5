//! `read_email`: one mail as text.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Assessment, CallCtx, Effect, Tool, ToolError, ToolOutput, ToolSpec};

use super::definition::base_spec;
use super::mail_tools::{MailTools, from_mail};
use super::received_files::{keep_files, origin};
use crate::message::Parsed;
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
        "Read a mail of the inbox as text; HTML without remote content. Its files are stored as artifacts. Marks it as read.",
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

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let account = self.0.accounts.find(args.account_id.as_deref())?;
        let login = self.0.accounts.login(account).await?;
        let raw = mailbox::read(&login, args.uid, args.mark_read.unwrap_or(true)).await?;
        let (cut, size) = (raw.cut, raw.size);
        // A large mail takes a while to decode, and its files to be stored.
        let (artifacts, from) = (Arc::clone(&self.0.artifacts), origin(ctx, &login.account));
        let parsed = tokio::task::spawn_blocking(move || {
            let Parsed { mut mail, contents } = message::parse(&raw.bytes);
            let problem = if raw.cut {
                None
            } else {
                keep_files(&*artifacts, &from, &mut mail.attachments, contents).err()
            };
            (mail, problem)
        });
        let (mail, problem) = parsed.await.map_err(|error| {
            ToolError::execution("The mail cannot be read.").with_detail(error.to_string())
        })?;
        let mut answer = json!(mail);
        if let Some(problem) = problem {
            answer["files_warning"] = json!(format!("Some files were not stored: {problem}"));
        }
        if cut {
            answer["warning"] = json!(format!(
                "The mail has {size} bytes; only its first MB was read, without its files; mails of up to {} MB are read whole.",
                mailbox::MAX_MESSAGE >> 20
            ));
        }
        Ok(from_mail(answer, &login.account.address))
    }
}
