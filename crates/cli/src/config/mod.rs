//! The configuration: flags, then the environment, then the file, then the defaults.
//!
//! Invariants
//! - A key of the file is taken or refused with its line; nothing is ignored, nothing half of a file is used.
//! - No key and no header of a provider stands in an error, a warning or a `Debug` text.
//!
//! Absent on purpose: configuration of a project's folder, and writing the file.

mod choose;
mod env;
mod file;
mod key;
mod named;
mod on_ask;
mod providers;
mod read;
pub(crate) mod units;
mod values;

#[cfg(test)]
mod documented;
#[cfg(test)]
mod tests;

pub(crate) use choose::{Chosen, ModelChoice, ModelFlags, choose};
pub(crate) use env::Env;
pub(crate) use file::Config;
pub(crate) use key::known_keys;
pub(crate) use on_ask::OnAsk;
pub(crate) use read::load;
