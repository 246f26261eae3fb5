//! Paths in files of the configuration.

use std::path::{Path, PathBuf};

use crate::config::environment::Env;

/// The folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// A path from this folder on; `~/` is the home folder.
pub(super) fn resolve_in_folder(path: &Path, folder: &Path, env: &Env) -> PathBuf {
    match (path.strip_prefix("~"), env.path("HOME")) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.join(path),
    }
}
