//! `reply_sms`: writes a draft that answers an SMS.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Assessment, CallCtx, Tool, ToolError, ToolOutput, ToolSpec};

use super::definition::{read_key, writes};
use super::draft::{SmsDraft, make, number};
use super::sms_tools::SmsTools;
use crate::service::OWNER;

/// Handler of `reply_sms`.
pub(super) struct ReplySms(pub(super) SmsTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Number of the SMS that is answered, from check_sms or search_sms.
    id: u64,
    /// Text, in plain text; at most 1,600 characters.
    text: String,
    /// Id of an unsent draft of yours that this one replaces.
    draft_id: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = writes::<Args>(
        "reply_sms",
        "Reply to an SMS",
        "Write a draft that answers an SMS. Nothing is sent: the user reads the draft and sends it.",
        ("Answer that Tuesday is fine", json!({"id": 12, "text": "Tuesday is fine."})),
    );
    // It reads the number of the sender.
    spec.config.push(read_key());
    spec
}

impl Tool for ReplySms {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let summary = format!("write a draft that answers SMS {}", args.id);
        Ok(Assessment::from_spec(spec).with_summary(summary))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        self.0.phone(ctx)?.for_reading()?;
        let sms = self.0.sms.inbox.get(OWNER, args.id).await?;
        let to = number(&sms.from).map_err(|_| {
            ToolError::validation(format!(
                "SMS {} is from \"{}\", which is not a number, so it cannot be answered.",
                args.id, sms.from
            ))
        })?;
        // The number is unknown when the call is assessed, so no rule lets the draft leave.
        let draft = SmsDraft { to, text: args.text, replaces: args.draft_id, by_rule: false };
        make(&self.0, ctx, draft).await
    }
}
