//! Which file a program is.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::StartError;

/// The file that a program of this name is in this folder: a name without a slash is looked for in `path` (as `PATH` is written), a
/// relative one starts at the folder, an absolute one is itself.
///
/// # Errors
/// [`StartError`] when there is no such file, it is not executable, or the folder does not exist.
pub fn look_up(program: &OsStr, folder: &Path, path: &OsStr) -> Result<PathBuf, StartError> {
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
