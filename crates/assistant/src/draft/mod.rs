//! Drafts: messages to send in a person's name, each delivered exactly once.
//!
//! - `kind`: the kinds of drafts, and the form of their recipients.
//! - `model`: a draft and its states, pure.
//! - `drafts`: creates and changes the drafts of all owners.
//! - `limits`: maximum sizes and numbers.
//! - `sending`: passes a draft to the carrier of its kind.
//! - `history`: earlier versions of a draft, and differences.
//! - `webhook`: delivers drafts of the kind webhook.
//! - `announce`: notifies the person about a model's draft.
//! - `rule`: allows sending drafts without approval.
//! - `unusual_letters`: letters of an address that look like others.
//!
//! Invariants
//! - A draft is stored as `sending` before any byte of it is sent, and only one process can do so.
//! - A delivery with an unknown result is `unknown`: it is never repeated automatically.

mod announce;
mod drafts;
mod error;
mod history;
mod kind;
mod limits;
mod model;
mod rule;
mod sending;
mod unusual_letters;
mod webhook;

pub use announce::announce;
pub use drafts::Drafts;
pub use error::DraftError;
pub use history::{DraftDifference, DraftVersion, differences};
pub use kind::{DraftKind, chat_recipient, sms_number};
pub use limits::{MAX_BODY_CHARS, MAX_RECIPIENTS, MAX_SUBJECT_CHARS, MAX_WAITING};
pub use model::{Draft, DraftAttachment, DraftChange, DraftStatus, NewDraft};
pub use rule::{SendRule, SendRuleError};
pub use sending::{Carrier, Delivery, SendRequest};
pub use unusual_letters::unusual_letters;
pub use webhook::WebhookCarrier;

#[cfg(test)]
mod tests;
