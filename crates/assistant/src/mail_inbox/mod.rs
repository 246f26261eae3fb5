//! The inboxes of mail accounts: read position, and the mails that arrived last.
//!
//! - `model`: an inbox and an arrived mail, pure.
//! - `mail_inboxes`: the inboxes of all owners.
//!
//! A daemon watches the inboxes and writes here; the heartbeat and tasks read.

mod mail_inboxes;
mod model;

pub use mail_inboxes::MailInboxes;
pub use model::{ArrivedMail, MailInbox, MailPosition, RECENT, TEXT_CHARS};

#[cfg(test)]
mod tests;
