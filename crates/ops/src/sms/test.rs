//! Tests the phone.

use super::row::PhoneReply;
use crate::context::OpContext;
use crate::error::OpError;

/// Tests the password of the phone, and its inbox if it may be read.
///
/// # Errors
/// [`OpError::Absent`], [`OpError::Denied`] if the app refuses the password,
/// [`OpError::Unavailable`] if it cannot be reached, [`OpError::Unusable`].
pub async fn test(ctx: &OpContext<'_>) -> Result<PhoneReply, OpError> {
    Ok((&ctx.toolcrib.sms().test().await?).into())
}
