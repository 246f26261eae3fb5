//! Changes the opt-ins of the phone.

use super::row::PhoneReply;
use crate::administration::{Act, record};
use crate::context::OpContext;
use crate::error::OpError;

/// Changes of the phone; `None` keeps a value.
#[derive(Debug, Clone, Copy, Default)]
pub struct SetPhoneRequest {
    /// Whether SMS may be read.
    pub read: Option<bool>,
    /// Whether drafts of SMS may be written and sent.
    pub send: Option<bool>,
}

/// Changes the opt-ins. When reading is switched on, what the phone has by then is not read.
///
/// # Errors
/// [`OpError::Absent`], [`OpError::Unavailable`] if the phone cannot be read,
/// [`OpError::Unusable`], [`OpError::Unrecorded`].
pub async fn set(ctx: &OpContext<'_>, request: SetPhoneRequest) -> Result<PhoneReply, OpError> {
    let SetPhoneRequest { read, send } = request;
    let changed = ctx.toolcrib.sms().set(read, send).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    let about = format!("{}: read {}, send {}", changed.name, changed.read, changed.send);
    record(&ctx.store, secrets, Act::new("sms.set", about)).await?;
    Ok((&changed).into())
}
