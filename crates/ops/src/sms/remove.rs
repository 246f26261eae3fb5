//! Removes the phone.

use super::row::PhoneReply;
use crate::administration::{Act, record};
use crate::context::OpContext;
use crate::error::OpError;

/// Removes the phone, its password and the stored SMS.
///
/// # Errors
/// [`OpError::Absent`], [`OpError::Unusable`], [`OpError::Store`], [`OpError::Unrecorded`].
pub async fn remove(ctx: &OpContext<'_>) -> Result<PhoneReply, OpError> {
    let removed = ctx.toolcrib.sms().remove().await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    record(&ctx.store, secrets, Act::new("sms.remove", removed.name.as_str())).await?;
    Ok((&removed).into())
}
