//! Mail accounts.
//!
//! - `model`: an account, pure.
//! - `servers`: the servers of well-known providers.
//! - `file`: the file of accounts.
//! - `login`: what one connection needs.
//! - `accounts`: finding, testing, saving and removing accounts.

mod accounts;
mod file;
mod login;
mod model;
mod servers;

pub use accounts::{MailAccounts, PasswordVault};
pub use model::{MailAccount, NewAccount, Security, Server};

pub use crate::oauth::OauthSettings;
pub(crate) use login::{Login, LoginSecret};

#[cfg(test)]
mod tests;
