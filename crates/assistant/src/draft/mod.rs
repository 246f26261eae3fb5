//! Drafts: whatever is to leave in a person's name, and sending it exactly once.
//!
//! - `kind`: what a draft is, and what its recipients look like.
//! - `model`: a draft and its states, pure.
//! - `drafts`: the drafts of all owners, made and changed.
//! - `limits`: how long and how many they may be.
//! - `sending`: handing one to what delivers its kind.
//! - `history`: earlier versions of a draft, and what differs.
//! - `webhook`: delivers drafts of the kind webhook.
//! - `announce`: tells the person about a draft of a model.
//! - `rule`: what a person lets leave without being asked.
//! - `unusual_letters`: letters of an address that look like others.
//!
//! Invariants
//! - A draft is stored as `sending` before a byte of it leaves, and only one process can do so.
//! - A delivery whose end is not known is `unknown`: it is never repeated by itself.

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
pub use kind::DraftKind;
pub use limits::{MAX_BODY_CHARS, MAX_RECIPIENTS, MAX_SUBJECT_CHARS, MAX_WAITING};
pub use model::{Draft, DraftAttachment, DraftChange, DraftStatus, NewDraft};
pub use rule::{SendRule, SendRuleError};
pub use sending::{Carrier, Delivery, SendRequest};
pub use unusual_letters::unusual_letters;
pub use webhook::WebhookCarrier;

#[cfg(test)]
mod tests;
