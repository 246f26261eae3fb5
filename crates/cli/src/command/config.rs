//! `toolcrib config`: the values of settings, their origins, and changes of them.

mod check;
mod defaults;
mod list;
mod path;
mod set_unset;
mod value_display;

use std::path::{Path, PathBuf};

use crate::clap_args::ConfigCommand;
use crate::config::KeyPath;
use crate::output::Failure;

pub(crate) use list::effective_values;
pub(crate) use set_unset::write_user_value;
pub(crate) use value_display::is_secret;
pub(super) use value_display::{hook_line, masked_line};

pub(super) fn run(command: &ConfigCommand, json: bool) -> Result<u8, Failure> {
    match command {
        ConfigCommand::List(command) => list::list(command, json),
        ConfigCommand::Get { key, workspace_args: world } => list::get(key, world, json),
        ConfigCommand::Set(command) => set_unset::set(command, json),
        ConfigCommand::Unset(command) => set_unset::unset(command, json),
        ConfigCommand::Path { workspace } => path::run(workspace.as_deref(), json),
        ConfigCommand::Check { file: Some(file), .. } => check::check_file(file, json),
        ConfigCommand::Check { file: None, workspace } => {
            check::check_all(workspace.as_deref(), json)
        }
    }
}

fn parse_key(text: &str) -> Result<KeyPath, Failure> {
    KeyPath::parse(text).map_err(Failure::usage)
}

/// Returns the named folder, or the current one.
fn workspace_folder(workspace: Option<&Path>) -> Result<PathBuf, Failure> {
    let workspace = workspace.unwrap_or(Path::new("."));
    if !workspace.is_dir() {
        return Err(Failure::usage(format!("{} is not a folder", workspace.display())));
    }
    Ok(workspace.to_owned())
}
