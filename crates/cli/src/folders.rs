//! Folders and files of this user: configuration, state, home of programs, roots.

use std::env;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use toolcrib_builtins::fs::Roots;
use toolcrib_store::vault::Vault;

use crate::output::Failure;

/// Folder of a workspace that contains its settings for Toolcrib.
pub(crate) const PROJECT_FOLDER: &str = ".toolcrib";

/// Returns the folder of the person's configuration, tools, agents and skills: `$TOOLCRIB_HOME`,
/// else the configuration folder of the XDG convention.
pub(crate) fn config_folder() -> Option<PathBuf> {
    if let Some(home) = env::var_os("TOOLCRIB_HOME").filter(|home| !home.is_empty()) {
        return Some(PathBuf::from(home));
    }
    let strategy = etcetera::base_strategy::choose_base_strategy().ok()?;
    Some(strategy.config_dir().join("toolcrib"))
}

/// Returns the named folders, or the current one, unless that is `/` or the home folder.
pub(crate) fn resolve_roots(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let home = env::home_dir();
    let current = Roots::current(home.as_deref())
        .map_err(|error| Failure::configuration(format!("{error} (--root DIR)")))?;
    Ok(current.paths().map(Path::to_path_buf).collect())
}

/// Returns the folder of artifacts and undo journals: `$TOOLCRIB_HOME`, else the state folder of
/// the XDG convention.
pub(crate) fn state_folder() -> Result<PathBuf, Failure> {
    if let Some(home) = env::var_os("TOOLCRIB_HOME").filter(|home| !home.is_empty()) {
        return Ok(PathBuf::from(home).join("state"));
    }
    let strategy = etcetera::base_strategy::choose_base_strategy().map_err(|_| {
        Failure::configuration(
            "there is no home folder to keep state in; set TOOLCRIB_HOME to a folder",
        )
    })?;
    let state = strategy.state_dir().unwrap_or_else(|| strategy.data_dir());
    Ok(state.join("toolcrib"))
}

/// Returns the path of the database file.
pub(crate) fn database_path() -> Result<PathBuf, Failure> {
    Ok(state_folder()?.join("toolcrib.db"))
}

/// Opens the vault of secrets: in the state folder, which tools cannot access.
pub(crate) fn open_vault() -> Result<Vault, Failure> {
    Ok(Vault::in_folder(state_folder()?.join("vault")))
}

/// Returns the home folder of programs that tools run: `$TOOLCRIB_HOME/home`, else in the data
/// folder of the XDG convention, where people find it.
pub(crate) fn sandbox_home() -> Option<PathBuf> {
    if let Some(home) = env::var_os("TOOLCRIB_HOME").filter(|home| !home.is_empty()) {
        return Some(PathBuf::from(home).join("home"));
    }
    let strategy = etcetera::base_strategy::choose_base_strategy().ok()?;
    Some(strategy.data_dir().join("toolcrib").join("home"))
}

/// Returns the folder of the userland: beside the home folder of programs.
pub(crate) fn userland_folder() -> Option<PathBuf> {
    Some(sandbox_home()?.with_file_name("userland"))
}
