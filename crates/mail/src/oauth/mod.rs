//! Logins by OAuth instead of a password.
//!
//! - `settings`: the authorization server of an account, pure.
//! - `endpoint`: requests to it, under the address policy.
//! - `device_flow`: the person agrees in a browser of any device (RFC 8628).
//! - `tokens`: the tokens of an account, renewed before they end.
//! - `xoauth2`: what is said to a mail server.
//!
//! # Invariants
//! - Tokens are in the vault, are masked in all output, and are in no error and no `Debug` text.
//! - A token goes to no server but those of its account.

mod device_flow;
mod endpoint;
mod settings;
mod tokens;
mod xoauth2;

pub use device_flow::DeviceCode;
pub use settings::OauthSettings;

pub(crate) use device_flow::agree;
pub(crate) use tokens::{Tokens, renewed};
pub(crate) use xoauth2::Xoauth2;
