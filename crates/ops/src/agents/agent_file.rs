//! Files of agents: finding them, and replacing them as a whole.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_agent::library::{Agent, Folder, Folders, agent_template};

use super::details::unreadable;
use crate::error::OpError;
use crate::library::LibraryContext;

/// The extensions of agent files.
const ENDINGS: [&str; 2] = ["md", "toml"];

/// Serializes changes in this process, so that the compared version is the replaced one.
static WRITE_LOCK: Mutex<()> = Mutex::new(());

pub(super) fn lock() -> MutexGuard<'static, ()> {
    WRITE_LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the file of an agent in this folder with its text, even if it is not a valid agent;
/// `None` if there is no file.
pub(super) fn existing(folder: &Path, name: &str) -> Result<Option<(PathBuf, String)>, OpError> {
    // An invalid name could be a path.
    agent_template(name).map_err(OpError::Invalid)?;
    for ending in ENDINGS {
        let path = folder.join(format!("{name}.{ending}"));
        match fs::read_to_string(&path) {
            Ok(text) => return Ok(Some((path, text))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&error)),
        }
    }
    Ok(None)
}

/// Writes a file completely or not at all: the file is first read from a hidden folder beside its
/// destination, as a run would read it, and moved only if it is an agent for which `is_right`
/// holds.
///
/// # Errors
/// [`OpError::Unusable`], [`OpError::Internal`].
pub(super) fn write(
    library: &LibraryContext<'_>,
    folder: &Folder,
    path: &Path,
    text: &str,
    is_right: impl FnOnce(&Agent) -> bool,
) -> Result<(), OpError> {
    let staging = folder.path.join(format!(".new-{:08x}", fastrand::u32(..)));
    fs::create_dir_all(&staging).map_err(|error| unreadable(&error))?;
    let staged = staging.join(path.file_name().unwrap_or_default());
    let written = stage(path, &staged, text).map_err(|error| unreadable(&error));
    let done = written.and_then(|()| {
        check(library, folder, path, &staged, is_right)?;
        fs::rename(&staged, path).map_err(|error| unreadable(&error))
    });
    // A leftover folder has no effect.
    let _ = fs::remove_dir_all(&staging);
    done
}

fn stage(path: &Path, staged: &Path, text: &str) -> std::io::Result<()> {
    fs::write(staged, text)?;
    match fs::metadata(path) {
        Ok(meta) => fs::set_permissions(staged, meta.permissions()),
        Err(_) => Ok(()),
    }
}

fn check(
    library: &LibraryContext<'_>,
    folder: &Folder,
    path: &Path,
    staged: &Path,
    is_right: impl FnOnce(&Agent) -> bool,
) -> Result<(), OpError> {
    let staging = staged.parent().unwrap_or(staged).to_owned();
    let agents = vec![Folder { scope: folder.scope, path: staging }];
    let read = library.read(&Folders { agents, ..library.folders.clone() });
    if let Some(problem) = read.problems.iter().find(|problem| problem.path == staged) {
        return Err(OpError::Unusable(format!("the agent cannot be read: {}", problem.message)));
    }
    let name = path.file_stem().map(OsStr::to_string_lossy).unwrap_or_default();
    match read.agent(&name) {
        Ok(agent) if is_right(agent) => Ok(()),
        _ => Err(not_editable(path)),
    }
}

pub(super) fn not_editable(path: &Path) -> OpError {
    OpError::Unusable(format!(
        "{} is written in a way that cannot be changed safely; edit it by hand",
        path.display()
    ))
}
