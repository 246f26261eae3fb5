//! Shows the person's part of the system prompt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::custom_instructions::{InstructionsError, InstructionsText};

use crate::context::OpContext;
use crate::error::OpError;

/// The text of the owner.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShowInstructionsRequest;

/// The person's own part of the system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CustomInstructions")]
pub struct InstructionsReply {
    /// The text; absent = there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
}

impl From<Option<InstructionsText>> for InstructionsReply {
    fn from(found: Option<InstructionsText>) -> Self {
        let updated_at = found.as_ref().map(|found| found.updated_at);
        Self { text: found.map(|found| found.text), updated_at }
    }
}

/// Returns the text.
///
/// # Errors
/// [`OpError::Denied`] for a caller that may not see texts, [`OpError::Store`].
pub async fn show(
    ctx: &OpContext<'_>,
    _: ShowInstructionsRequest,
) -> Result<InstructionsReply, OpError> {
    check_payloads(ctx)?;
    Ok(ctx.toolcrib.custom_instructions().get(ctx.store.owner).await?.into())
}

pub(super) fn check_payloads(ctx: &OpContext<'_>) -> Result<(), OpError> {
    if ctx.store.shows_payloads {
        Ok(())
    } else {
        Err(OpError::Denied("you may not see the text of the system prompt".to_owned()))
    }
}

impl From<InstructionsError> for OpError {
    fn from(error: InstructionsError) -> Self {
        match error {
            InstructionsError::Row(error) => error.into(),
            error => Self::Invalid(error.to_string()),
        }
    }
}
