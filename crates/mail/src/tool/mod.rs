//! Tools for e-mail, one file per tool, and what they share.
//!
//! - `definition`: the base of their definitions.
//! - `mail_tools`: what they work on.
//! - `source`: all of them as a source for the registry.
//! - `attachments`: files that go with a draft.
//! - `received_files`: files of a mail that was read, as artifacts.
//! - `draft`: making a draft, and what a rule of the person lets leave.

mod attachments;
mod check_email;
mod compose_email;
mod definition;
mod draft;
mod mail_tools;
mod read_email;
mod received_files;
mod reply_email;
mod search_email;
mod setup_email;
mod source;
mod unsubscribe_email;

pub use definition::{ACCOUNT_KEY, FEATURE, SOURCE};
pub use mail_tools::MailTools;
pub use source::specs;
