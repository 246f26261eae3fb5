//! E-mail: reading it over IMAP, and handing drafts to a submission server.
//!
//! - [`account`]: accounts in a file of the configuration; their passwords are in the vault.
//! - `connection`, `imap_guard`: connections under the address policy, whose answers are bounded.
//! - `imap_session`, `imap_pool`: a mailbox that is logged in; those that are kept.
//! - `mailbox`: what is asked of an IMAP server.
//! - `inbox_watch`: waits for new mail.
//! - `message`: messages read and written.
//! - `oauth`: logins without a password.
//! - `submission`: handing a message over (RFC 6409).
//! - `carrier`: sends drafts of the kind mail. `own_mailer`: sends notifications of the person to
//!   themselves.
//! - `tool`: one file per tool.
//!
//! # Invariants
//! - No password is sent before TLS, and none is in an error or a `Debug` text.
//! - A length that a server names is checked before it is believed; memory is bounded by
//!   [`MAX_MESSAGE`], whatever a server or a mail says.
//! - Text of a mail is outside text and private; nothing that it refers to is fetched.
//! - A tool makes drafts. Only the carrier sends to others, and only what the drafts let leave;
//!   notifications go to the account's own address.
//!
//! Absent on purpose: POP3, filters, and folders other than the inbox and the Sent folder.

pub mod account;
mod carrier;
mod connection;
mod error;
mod imap_guard;
mod imap_pool;
mod imap_session;
mod inbox_watch;
mod mailbox;
mod message;
mod oauth;
mod own_mailer;
mod submission;
mod tool;

pub use carrier::MailCarrier;
pub use error::MailError;
pub use inbox_watch::{InboxListener, NewMail, WatchTimes, watch_inbox};
pub use mailbox::MAX_MESSAGE;
pub use message::recipients;
pub use oauth::DeviceCode;
pub use own_mailer::OwnMailer;
pub use tool::{ACCOUNT_KEY, FEATURE, MailTools, SOURCE, specs};
