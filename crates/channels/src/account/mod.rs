//! Accounts at chat services.
//!
//! - `model`: an account, pure.
//! - `file`: the file of accounts.
//! - `accounts`: finding, testing, saving, changing and removing accounts.

mod accounts;
mod file;
mod model;

pub use accounts::{ChannelAccounts, TokenVault};
pub use model::{ChannelAccount, NewChannel};
