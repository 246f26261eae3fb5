//! Operations on mail accounts.

mod accounts;

pub use accounts::{
    AddMailAccountRequest, AddMailOauthRequest, MailAccountReply, TestMailAccountRequest, add,
    add_oauth, list, remove, test,
};
