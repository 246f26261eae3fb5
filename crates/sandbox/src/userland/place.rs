//! Folders that come and go whole: private ones, new ones beside their place, the step into it, and their end whatever is in them.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// How folders are called that are not finished, or are on their way out. The next installation clears them away.
pub(super) const LEFT_OVER: &str = "left-over-";

/// Makes a folder for its owner alone, if it is not there.
pub(super) fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A new folder in this one that nobody counts on.
pub(super) fn fresh(folder: &Path) -> io::Result<PathBuf> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let number = now.map_or(0, |now| now.as_nanos());
    let path = folder.join(format!("{LEFT_OVER}{:x}-{number:x}", std::process::id()));
    DirBuilder::new().mode(0o755).create(&path)?;
    Ok(path)
}

/// Moves a folder into its place, in one step where the file system can. What was there takes its name in exchange.
pub(super) fn step_in(fresh: &Path, place: &Path) -> io::Result<()> {
    if place.symlink_metadata().is_err() {
        return fs::rename(fresh, place);
    }
    match exchange(fresh, place) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            let aside = fresh.with_extension("old");
            fs::rename(place, &aside)?;
            fs::rename(fresh, place)?;
            fs::rename(aside, fresh)
        }
        result => result,
    }
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes everything at this path, and follows no link. Folders that their owner closed are opened first.
pub(super) fn clear(path: &Path) -> io::Result<()> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    };
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => {}
        Ok(_) => return gone(fs::remove_file(path)),
        Err(error) => return gone(Err(error)),
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        result => return gone(result),
    }
    open_all(path)?;
    gone(fs::remove_dir_all(path))
}

/// Gives the owner every right to the folders in here.
fn open_all(path: &Path) -> io::Result<()> {
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Clears away what earlier attempts left.
pub(super) fn tidy(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(LEFT_OVER) {
            clear(&entry.path())?;
        }
    }
    Ok(())
}
