//! `check_sms`: the newest unread SMS.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{CallCtx, Tool, ToolError, ToolOutput, ToolSpec};

use super::definition::reads;
use super::rows::preview;
use super::sms_tools::{SmsTools, from_sms};

/// Maximum SMS of one result.
const MOST: usize = 50;

/// Handler of `check_sms`.
pub(super) struct CheckSms(pub(super) SmsTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {}

pub(super) fn spec() -> ToolSpec {
    reads::<Args>(
        "check_sms",
        "Check SMS",
        "List the 50 newest unread SMS of the user's phone, with the beginning of each. read_sms reads one.",
        ("Did anyone text me?", json!({})),
    )
}

impl Tool for CheckSms {
    type Args = Args;
    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, _: Args) -> Result<ToolOutput, ToolError> {
        let known = self.0.known(ctx).await?;
        let unread: Vec<_> = known.sms.iter().filter(|sms| !sms.is_read).collect();
        let rows: Vec<_> = unread.iter().take(MOST).map(|sms| preview(sms)).collect();
        let mut answer = json!({ "unread": unread.len(), "sms": rows });
        if let Some(problem) = known.problem {
            answer["problem"] = json!(problem);
        }
        Ok(from_sms(answer))
    }
}
