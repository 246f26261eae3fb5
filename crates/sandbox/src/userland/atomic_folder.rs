//! Atomic creation, replacement and removal of folders.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Name prefix of folders that are incomplete or being removed. The next installation deletes them.
pub(super) const LEFT_OVER: &str = "left-over-";

/// Creates a folder with access for its owner only, if it does not exist.
pub(super) fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Creates a uniquely named folder inside this one.
pub(super) fn temp_beside(folder: &Path) -> io::Result<PathBuf> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let number = now.map_or(0, |now| now.as_nanos());
    let path = folder.join(format!("{LEFT_OVER}{:x}-{number:x}", std::process::id()));
    DirBuilder::new().mode(0o755).create(&path)?;
    Ok(path)
}

/// Moves a folder to its place, atomically if the file system supports it. An existing folder gets
/// the other name in exchange.
pub(super) fn swap_into_place(fresh: &Path, place: &Path) -> io::Result<()> {
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

/// Removes everything at this path without following symlinks. Folders without owner permissions
/// get them first.
pub(super) fn remove_all(path: &Path) -> io::Result<()> {
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

/// Gives the owner all permissions on the folders inside.
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

/// Removes the folders that earlier attempts left.
pub(super) fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(LEFT_OVER) {
            remove_all(&entry.path())?;
        }
    }
    Ok(())
}
