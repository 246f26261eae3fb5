//! Adds the phone.

use toolcrib_sms::account::NewPhone;

use super::row::PhoneReply;
use crate::administration::{Act, record};
use crate::context::OpContext;
use crate::error::OpError;

/// A phone to add.
pub struct AddPhoneRequest {
    /// The phone.
    pub phone: NewPhone,
    /// The password of the app.
    pub password: String,
}

/// Adds the phone after the app has accepted the password; nothing is saved otherwise.
///
/// # Errors
/// [`OpError::Invalid`], [`OpError::Denied`] if the app refuses the password,
/// [`OpError::Unavailable`] if it cannot be reached, [`OpError::Unusable`],
/// [`OpError::Unrecorded`].
pub async fn add(ctx: &OpContext<'_>, request: AddPhoneRequest) -> Result<PhoneReply, OpError> {
    let AddPhoneRequest { phone, password } = request;
    let added = ctx.toolcrib.sms().add(phone, &password).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    let about = format!("{}: read {}, send {}", added.name, added.read, added.send);
    record(&ctx.store, secrets, Act::new("sms.add", about)).await?;
    Ok((&added).into())
}
