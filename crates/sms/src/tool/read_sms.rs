//! `read_sms`: one SMS with its whole text.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Assessment, CallCtx, Effect, Tool, ToolError, ToolOutput, ToolSpec};

use super::definition::reads;
use super::rows::whole;
use super::sms_tools::{SmsTools, from_sms};
use crate::error::SmsError;
use crate::service::OWNER;

/// Handler of `read_sms`.
pub(super) struct ReadSms(pub(super) SmsTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Number of the SMS, from check_sms or search_sms.
    id: u64,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = reads::<Args>(
        "read_sms",
        "Read an SMS",
        "Read an SMS of the user's phone. Marks it as read here, not on the phone.",
        ("Read me that SMS", json!({"id": 12})),
    );
    spec.effect = Effect::Idempotent;
    spec
}

impl Tool for ReadSms {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        Ok(Assessment::from_spec(spec).with_summary(format!("read SMS {}", args.id)))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        self.0.phone(ctx)?.for_reading()?;
        let inbox = &self.0.sms.inbox;
        let sms = inbox.get(OWNER, args.id).await?;
        inbox.mark_read(OWNER, args.id).await.map_err(SmsError::from)?;
        Ok(from_sms(whole(&sms)))
    }
}
