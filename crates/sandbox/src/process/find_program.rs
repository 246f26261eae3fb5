//! Program lookup in `PATH`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::StartError;

/// Resolves a program name: a name without a slash is looked up in `path` (in the format of
/// `PATH`), a relative path starts at the folder, an absolute path is used as it is.
///
/// # Errors
/// [`StartError`] if the file does not exist, is not executable, or the folder does not exist.
pub fn find_program(program: &OsStr, folder: &Path, path: &OsStr) -> Result<PathBuf, StartError> {
    if !folder.is_dir() {
        return Err(StartError::NoFolder(folder.to_owned()));
    }
    let given = Path::new(program);
    if given.components().count() > 1 || program.as_encoded_bytes().contains(&b'/') {
        let file = folder.join(given);
        return if is_executable(&file) { Ok(file) } else { Err(fault_of(file)) };
    }
    let found = std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(given))
        .find(|file| is_executable(file));
    found.ok_or_else(|| StartError::NotFound(given.to_owned()))
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, Access::EXEC_OK).is_ok()
}

fn fault_of(file: PathBuf) -> StartError {
    if file.exists() { StartError::NotExecutable(file) } else { StartError::NotFound(file) }
}
