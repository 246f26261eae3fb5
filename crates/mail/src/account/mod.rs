//! Mail accounts.
//!
//! - `model`: an account, pure.
//! - `servers`: the servers of well-known providers.
//! - `file`: the file of accounts.
//! - `accounts`: finding, testing, saving and removing accounts.

mod accounts;
mod file;
mod model;
mod servers;

pub use accounts::{MailAccounts, PasswordVault};
pub use model::{MailAccount, NewAccount, Security, Server};

pub(crate) use accounts::Login;

#[cfg(test)]
mod tests;
