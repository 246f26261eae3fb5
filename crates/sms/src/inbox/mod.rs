//! The SMS that arrived, and the position up to which the phone was read.
//!
//! - `model`: which SMS of the phone are new, and how they are stored, pure.
//! - `text`: texts of SMS without characters that hide something.
//! - `sms_inbox`: the inboxes of all owners.

mod model;
mod sms_inbox;
mod text;

pub(crate) use model::StoredSms;
pub(crate) use model::{MAX_STORED, OVERLAP};
pub use sms_inbox::InboxStatus;
pub(crate) use sms_inbox::SmsInbox;
