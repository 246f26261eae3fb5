//! Tools for SMS, one file per tool, and what they share.
//!
//! - `definition`: the base of their definitions.
//! - `sms_tools`: what they work on.
//! - `rows`: SMS in results.
//! - `draft`: making a draft, and what a rule of the person lets leave.
//! - `source`: all of them as a source for the registry.

mod check_sms;
mod definition;
mod draft;
mod read_sms;
mod reply_sms;
mod rows;
mod search_sms;
mod send_sms;
mod sms_tools;
mod source;

pub use definition::{FEATURE, READ_KEY, SEND_KEY, SOURCE};
pub use sms_tools::SmsTools;
pub use source::specs;
