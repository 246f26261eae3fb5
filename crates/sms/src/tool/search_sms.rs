//! `search_sms`: stored SMS by sender or text.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{CallCtx, Tool, ToolError, ToolOutput, ToolSpec};

use super::definition::reads;
use super::rows::preview;
use super::sms_tools::{SmsTools, from_sms};
use crate::error::SmsError;

/// Maximum SMS of one result.
const MOST: usize = 20;
/// Maximum characters of a query.
const QUERY_CHARS: usize = 200;

/// Handler of `search_sms`.
pub(super) struct SearchSms(pub(super) SmsTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Part of the text or of the sender's number or name; upper and lower case are the same.
    query: String,
}

pub(super) fn spec() -> ToolSpec {
    reads::<Args>(
        "search_sms",
        "Search SMS",
        "Find SMS that arrived on the user's phone by a part of their text or sender; the 20 newest.",
        ("Find the SMS of the parcel service", json!({"query": "parcel"})),
    )
}

impl Tool for SearchSms {
    type Args = Args;
    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let query = args.query.trim().to_lowercase();
        if query.is_empty() || query.chars().count() > QUERY_CHARS {
            let text = format!("query is a text of 1 to {QUERY_CHARS} characters.");
            return Err(SmsError::Argument(text).into());
        }
        let known = self.0.known(ctx).await?;
        let fits = |text: &str| text.to_lowercase().contains(&query);
        let found: Vec<_> =
            known.sms.iter().filter(|sms| fits(&sms.text) || fits(&sms.from)).collect();
        let rows: Vec<_> = found.iter().take(MOST).map(|sms| preview(sms)).collect();
        let mut answer = json!({ "found": found.len(), "sms": rows });
        if let Some(problem) = known.problem {
            answer["problem"] = json!(problem);
        }
        Ok(from_sms(answer))
    }
}
