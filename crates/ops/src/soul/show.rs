//! Shows the person's part of the system prompt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::soul::{Soul, SoulError};

use crate::context::OpContext;
use crate::error::OpError;

/// The text of the owner.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShowSoulRequest;

/// The person's own part of the system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Soul")]
pub struct SoulReply {
    /// The text; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
}

impl From<Option<Soul>> for SoulReply {
    fn from(soul: Option<Soul>) -> Self {
        let updated_at = soul.as_ref().map(|soul| soul.updated_at);
        Self { text: soul.map(|soul| soul.text), updated_at }
    }
}

/// Returns the text.
///
/// # Errors
/// [`OpError::Denied`] for a caller that may not see texts, [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>, _: ShowSoulRequest) -> Result<SoulReply, OpError> {
    check_payloads(ctx)?;
    Ok(ctx.toolcrib.souls().get(ctx.store.owner).await?.into())
}

pub(super) fn check_payloads(ctx: &OpContext<'_>) -> Result<(), OpError> {
    if ctx.store.shows_payloads {
        Ok(())
    } else {
        Err(OpError::Denied("you may not see the text of the system prompt".to_owned()))
    }
}

impl From<SoulError> for OpError {
    fn from(error: SoulError) -> Self {
        match error {
            SoulError::Row(error) => error.into(),
            error => Self::Invalid(error.to_string()),
        }
    }
}
