//! Shows the phone with the state of its inbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::PhoneReply;
use crate::context::OpContext;
use crate::error::OpError;

/// The phone with the state of its inbox, without texts of people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SmsPhoneDetails")]
pub struct PhoneDetails {
    /// The phone.
    #[serde(flatten)]
    pub phone: PhoneReply,
    /// Number of stored SMS.
    pub stored: usize,
    /// Number of stored SMS that were not read here.
    pub unread: usize,
    /// Why the phone cannot be read now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Shows the phone.
///
/// # Errors
/// [`OpError::Absent`], [`OpError::Unusable`], [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>) -> Result<PhoneDetails, OpError> {
    let sms = ctx.toolcrib.sms();
    let phone = sms.phones.find()?;
    let status = sms.status().await?;
    Ok(PhoneDetails {
        problem: status.problem.filter(|_| phone.read),
        phone: (&phone).into(),
        stored: status.stored,
        unread: status.unread,
    })
}
