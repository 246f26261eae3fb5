//! SMS over an Android phone with the app SMS Gateway for Android, in its local server mode.
//!
//! - [`account`]: the phone in a file of the configuration; its password is in the vault.
//! - `gateway`: the HTTP interface of the app, whose answers are bounded.
//! - `inbox`: the SMS that arrived, with the position up to which the phone was read.
//! - `receive`: reads the phone, and stores what is new.
//! - `service`: adding, changing and removing the phone, with the two opt-ins.
//! - `carrier`: sends drafts of the kind sms.
//! - `tool`: one file per tool.
//!
//! # Invariants
//! - The password is in no error, log line or `Debug` text, and no plain HTTP request with it
//!   leaves for an address outside of private networks.
//! - An SMS is stored once, together with the position; what the phone had before reading was
//!   switched on is not read.
//! - A tool makes drafts. Only the carrier sends, and only what the drafts let leave.
//! - The id under which a message is sent depends on the draft, its recipient and its text alone,
//!   so that the app recognizes a repeated attempt.
//!
//! Absent on purpose: webhooks of the app (they require HTTPS and an open port of the daemon, and
//! the inbox of the phone can be read), MMS, and several phones.

pub mod account;
mod carrier;
mod error;
mod gateway;
mod inbox;
mod receive;
mod service;
mod tool;

pub use carrier::SmsCarrier;
pub use error::SmsError;
pub use inbox::InboxStatus;
pub use service::Sms;
pub use tool::{FEATURE, READ_KEY, SEND_KEY, SOURCE, SmsTools, specs};
