//! The phone in replies, and the errors of SMS.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_sms::SmsError;
use toolcrib_sms::account::SmsPhone;

use crate::error::OpError;

/// The phone for SMS, without its password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SmsPhone")]
pub struct PhoneReply {
    /// The name of the phone, as the app says.
    pub phone: String,
    /// Address of the app's server.
    pub base_url: String,
    /// User name.
    pub user: String,
    /// Whether SMS may be read.
    pub read: bool,
    /// Whether drafts of SMS may be written and sent.
    pub send: bool,
}

impl From<&SmsPhone> for PhoneReply {
    fn from(phone: &SmsPhone) -> Self {
        Self {
            phone: phone.name.clone(),
            base_url: phone.base_url.clone(),
            user: phone.user.clone(),
            read: phone.read,
            send: phone.send,
        }
    }
}

impl From<SmsError> for OpError {
    fn from(error: SmsError) -> Self {
        let text = error.to_string();
        match error {
            SmsError::NoPhone | SmsError::NoSms(_) => Self::Absent(text),
            SmsError::BadPhone(_) | SmsError::Argument(_) | SmsError::Off(_) => Self::Invalid(text),
            SmsError::NoPassword | SmsError::Unusable(_) => Self::Unusable(text),
            SmsError::Login(_) => Self::Denied(text),
            SmsError::Row(error) => error.into(),
            SmsError::Unreachable { .. }
            | SmsError::Refused { .. }
            | SmsError::NoInbox(_)
            | SmsError::Answer { .. } => Self::Unavailable(text),
        }
    }
}
