//! What is known of the inboxes of mail accounts: how far they were read, and what arrived last.
//!
//! - `model`: an inbox and a mail that arrived, pure.
//! - `mail_inboxes`: the inboxes of all owners.
//!
//! A daemon watches the inboxes and writes here; the heartbeat and tasks read.

mod mail_inboxes;
mod model;

pub use mail_inboxes::MailInboxes;
pub use model::{ArrivedMail, MailInbox, MailPosition, RECENT, TEXT_CHARS};

#[cfg(test)]
mod tests;
