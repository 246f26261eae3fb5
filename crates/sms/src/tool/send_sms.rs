//! `send_sms`: writes a draft of an SMS.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_assistant::draft::DraftKind;
use toolcrib_core::{Assessment, CallCtx, Effect, Tool, ToolError, ToolOutput, ToolSpec};

use super::definition::writes;
use super::draft::{SmsDraft, make, number};
use super::sms_tools::SmsTools;

/// Handler of `send_sms`.
pub(super) struct SendSms(pub(super) SmsTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Number of the recipient, such as +491701234567.
    to: String,
    /// Text, in plain text; at most 1,600 characters.
    text: String,
    /// Id of an unsent draft of yours that this one replaces.
    draft_id: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    writes::<Args>(
        "send_sms",
        "Write an SMS",
        "Write a draft of an SMS. Nothing is sent: the user reads the draft and sends it.",
        (
            "Text Bob that I am late",
            json!({"to": "+491701234567", "text": "I will be ten minutes late."}),
        ),
    )
}

impl Tool for SendSms {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let to = number(&args.to)?;
        let mut assessment = Assessment::from_spec(spec);
        let leaves = self.has_rule_for(&to);
        if leaves {
            assessment.effect = Effect::SideEffect;
            assessment.reach.outbound = true;
        }
        let what = if leaves { "send an SMS by your rule" } else { "write a draft of an SMS" };
        Ok(assessment.with_summary(format!("{what} to {to}")))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let to = number(&args.to)?;
        let by_rule = self.has_rule_for(&to);
        let draft = SmsDraft { to, text: args.text, replaces: args.draft_id, by_rule };
        make(&self.0, ctx, draft).await
    }
}

impl SendSms {
    fn has_rule_for(&self, to: &String) -> bool {
        self.0.drafts.has_rule_for(DraftKind::Sms, std::slice::from_ref(to))
    }
}
