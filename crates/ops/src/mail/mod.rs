//! Operations on mail accounts.

mod accounts;

pub use accounts::{
    AddMailAccountRequest, MailAccountReply, TestMailAccountRequest, add, list, remove, test,
};
