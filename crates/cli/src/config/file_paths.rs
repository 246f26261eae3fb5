//! Resolves paths in configuration files.

use std::path::{Path, PathBuf};

use crate::config::environment::Env;

/// Returns the folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Resolves a path relative to this folder; `~/` is the home folder.
pub(super) fn resolve_in_folder(path: &Path, folder: &Path, env: &Env) -> PathBuf {
    match (path.strip_prefix("~"), env.path("HOME")) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.join(path),
    }
}
