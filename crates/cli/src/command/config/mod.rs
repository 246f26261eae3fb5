//! `toolcrib config`: what is set, where, and changes of it.

mod change;
mod check;
mod defaults;
mod list;
mod path;
mod shown;

use std::path::{Path, PathBuf};

use crate::cli::ConfigCommand;
use crate::config::Key;
use crate::output::Failure;

pub(crate) use change::write;
pub(crate) use list::all;
pub(crate) use shown::is_secret;
pub(super) use shown::{hook_line, value_line};

pub(super) fn run(command: &ConfigCommand, json: bool) -> Result<u8, Failure> {
    match command {
        ConfigCommand::List(command) => list::list(command, json),
        ConfigCommand::Get { key, world } => list::get(key, world, json),
        ConfigCommand::Set(command) => change::set(command, json),
        ConfigCommand::Unset(command) => change::unset(command, json),
        ConfigCommand::Path { workspace } => path::run(workspace.as_deref(), json),
        ConfigCommand::Check { file: Some(file), .. } => check::file(file, json),
        ConfigCommand::Check { file: None, workspace } => check::all(workspace.as_deref(), json),
    }
}

fn key(text: &str) -> Result<Key, Failure> {
    Key::parse(text).map_err(Failure::usage)
}

/// The folder that was named, or the current one.
fn here(workspace: Option<&Path>) -> Result<PathBuf, Failure> {
    let workspace = workspace.unwrap_or(Path::new("."));
    if !workspace.is_dir() {
        return Err(Failure::usage(format!("{} is no folder", workspace.display())));
    }
    Ok(workspace.to_owned())
}
