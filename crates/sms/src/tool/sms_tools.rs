//! The phone, the inbox and the services that the tools share.

use toolcrib_assistant::LabelsOfRuns;
use toolcrib_assistant::draft::Drafts;
use toolcrib_assistant::notify::Notifier;
use toolcrib_core::{CallCtx, ToolOutput, Trust};

use crate::account::SmsPhone;
use crate::error::SmsError;
use crate::inbox::StoredSms;
use crate::service::{OWNER, Sms};

/// The phone, the inbox and the services of the tools.
#[derive(Clone)]
pub struct SmsTools {
    /// The phone with its inbox.
    pub sms: Sms,
    /// The drafts.
    pub drafts: Drafts,
    /// Tells the person about drafts.
    pub notifier: Notifier,
    /// Taint labels of open runs.
    pub labels: LabelsOfRuns,
}

/// The stored SMS, and why the phone could not be read now.
pub(super) struct Known {
    pub(super) sms: Vec<StoredSms>,
    pub(super) problem: Option<String>,
}

impl SmsTools {
    /// Returns the phone of a call: the daemon's other owners have none.
    pub(super) fn phone(&self, ctx: &CallCtx) -> Result<SmsPhone, SmsError> {
        if ctx.context.owner != OWNER {
            return Err(SmsError::NoPhone);
        }
        self.sms.phones.find()
    }

    /// Reads the phone, and returns all stored SMS, the newest first. If the phone cannot be
    /// reached, these are the SMS that arrived before.
    pub(super) async fn known(&self, ctx: &CallCtx) -> Result<Known, SmsError> {
        self.phone(ctx)?.for_reading()?;
        let problem = match self.sms.receive().await {
            Ok(_) => None,
            Err(error @ SmsError::Off(_)) => return Err(error),
            Err(error) => Some(error.to_string()),
        };
        Ok(Known { sms: self.sms.inbox.list(OWNER).await?, problem })
    }
}

/// A result with text of SMS: it comes from outside.
pub(super) fn from_sms(value: serde_json::Value) -> ToolOutput {
    ToolOutput::structured(value).with_origin(Trust::External, "SMS of the user's phone")
}
