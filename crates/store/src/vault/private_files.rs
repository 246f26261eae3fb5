//! Private files of the vault: owner-only permissions, atomic replacement, one writer at a time.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::error::VaultError;

/// The holder of this file's lock may write.
const LOCK_FILE: &str = "secrets.lock";

fn io_at(path: &Path) -> impl Fn(io::Error) -> VaultError + '_ {
    move |source| VaultError::Io { path: path.to_owned(), source }
}

/// Creates the folder and waits for the lock, which is released when the file is dropped.
pub(super) fn lock(folder: &Path) -> Result<File, VaultError> {
    let mut folders = DirBuilder::new();
    folders.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
    folders.create(folder).map_err(io_at(folder))?;
    check(folder, 0o022, 0o700)?;
    let path = folder.join(LOCK_FILE);
    let held = private().create(true).truncate(false).open(&path).map_err(io_at(&path))?;
    held.lock().map_err(io_at(&path))?;
    Ok(held)
}

/// Replaces a file atomically, also on power loss, without ever exposing it to other users. The
/// caller holds the lock.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), VaultError> {
    let draft = path.with_extension("new");
    let written = (|| {
        // A draft of a process that died while writing.
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private().create_new(true).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        // Only Unix can open and sync a folder like a file.
        let folder = path.parent().filter(|_| cfg!(unix));
        folder.map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    })();
    written.map_err(io_at(path))
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Checks that this user or root owns the file and that its mode has none of the `forbidden` bits.
#[cfg(unix)]
pub(super) fn check(path: &Path, forbidden: u32, wanted: u32) -> Result<(), VaultError> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = fs::metadata(path).map_err(io_at(path))?;
    // Root controls the machine anyway.
    let uid = metadata.uid();
    if uid != rustix::process::geteuid().as_raw() && uid != 0 {
        return Err(VaultError::NotOwned { path: path.to_owned(), uid });
    }
    let mode = metadata.mode() & 0o777;
    if mode & forbidden == 0 {
        return Ok(());
    }
    Err(VaultError::TooOpen { path: path.to_owned(), mode, wanted })
}

/// Accepts every file: Windows has no permission bits, and a user's folder is closed to others by
/// default.
#[cfg(not(unix))]
pub(super) fn check(_path: &Path, _forbidden: u32, _wanted: u32) -> Result<(), VaultError> {
    Ok(())
}
