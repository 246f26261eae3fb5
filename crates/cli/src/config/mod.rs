//! The configuration: flags, then the environment, then the project's file, then the person's, then the defaults; and above all of them
//! what whoever runs the machine pins.
//!
//! Invariants
//! - A key of a file is taken or refused with its line; nothing is ignored, nothing half of a file is used. The one exception says so: what
//!   a workspace that is not trusted must not say is left out with a remark.
//! - No layer below loosens what the managed file pins, and a workspace that is not trusted loosens nothing at all.
//! - No key and no header of a provider stands in an error, a warning or a `Debug` text.
//!
//! Absent on purpose: what the keys mean to the parts that they configure.

mod choose;
mod discovery;
mod edit;
mod env;
mod file;
mod flag;
mod given;
mod hook;
mod key;
mod key_path;
mod layers;
mod named;
mod on_ask;
mod permissions;
mod project;
mod providers;
mod python;
mod read;
mod sandbox;
mod server;
mod shell;
mod source;
pub(crate) mod units;
mod values;
mod variables;

#[cfg(test)]
mod documented;
#[cfg(test)]
mod tests;

pub(crate) use choose::{Chosen, ModelChoice, ModelFlags, choose};
pub(crate) use edit::Edit;
pub(crate) use env::Env;
pub(crate) use file::Config;
pub(crate) use key::{key_remarks, known_keys};
pub(crate) use key_path::Key;
pub(crate) use layers::{Held, Layer, Origin};
pub(crate) use on_ask::OnAsk;
pub(crate) use read::{Places, load, parse, parse_layer, parse_project, project_file, read};
pub(crate) use server::{LISTEN, ServerSection};
pub(crate) use variables::fitting;
