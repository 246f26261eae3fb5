//! The folders of a folder of tools.

use std::path::{Path, PathBuf};

use super::definition_error::DefinitionError;

/// Lists the folders that should contain tools, sorted by name.
pub(super) fn folders(dir: &Path) -> Result<Vec<PathBuf>, DefinitionError> {
    let unreadable = |error: std::io::Error| {
        DefinitionError::new(format!("the folder of tools cannot be read: {error}"))
    };
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        // A symlink to a folder counts as a folder.
        if !is_skipped(&entry.file_name()) && entry.path().is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    Ok(folders)
}

pub(super) fn is_skipped(name: &std::ffi::OsStr) -> bool {
    matches!(name.as_encoded_bytes().first(), Some(b'_' | b'.'))
}

pub(super) fn display_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
