//! Atomic writes: a temporary file in the folder of the target, then a rename. A reader sees the
//! old content or the new content, never a mix.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::os::fd::BorrowedFd;

use rustix::fs::{Access, AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;

use super::error::FsErrorKind;
use super::resolve::ResolvedPath;

/// A temporary file in the folder of its target. Dropping it without [`TempFile::commit`] removes
/// it.
pub(super) struct TempFile<'a> {
    dir: BorrowedFd<'a>,
    name: OsString,
    pub(super) file: File,
    committed: bool,
}

impl<'a> TempFile<'a> {
    /// Creates an empty temporary file beside the target; with `like`, it gets that file's mode and
    /// owner, as far as the system permits.
    pub(super) fn create(spot: &'a ResolvedPath, like: Option<&Stat>) -> Result<Self, FsErrorKind> {
        let dir = spot.dir();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let name = temp_name();
        let mode = Mode::from_raw_mode(if like.is_some() { 0o600 } else { 0o666 });
        let fd =
            rustix::fs::openat(dir, &name, flags | OFlags::NOFOLLOW, mode).map_err(read_only)?;
        let temp = Self { dir, name, file: fd.into(), committed: false };
        if let Some(stat) = like {
            temp.imitate(stat)?;
        }
        Ok(temp)
    }

    fn imitate(&self, stat: &Stat) -> Result<(), FsErrorKind> {
        let own = rustix::fs::fstat(&self.file)?;
        if (own.st_uid, own.st_gid) != (stat.st_uid, stat.st_gid) {
            // Only a privileged process may change owners. For other processes the new file belongs
            // to their user, as with any editor.
            let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
            let _ = rustix::fs::fchown(&self.file, Some(uid), Some(gid));
        }
        Ok(rustix::fs::fchmod(&self.file, Mode::from_raw_mode(stat.st_mode & 0o7777))?)
    }

    /// Writes all bytes and syncs them to disk.
    pub(super) fn fill(mut self, bytes: &[u8]) -> Result<Self, FsErrorKind> {
        self.file.write_all(bytes)?;
        self.file.sync_data()?;
        Ok(self)
    }

    /// Renames the file to `name`; without `replace`, an existing target is an error.
    pub(super) fn commit(mut self, name: &OsStr, replace: bool) -> Result<(), FsErrorKind> {
        rename(self.dir, &self.name, self.dir, name, replace)?;
        self.committed = true;
        Ok(())
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if !self.committed {
            let _ = rustix::fs::unlinkat(self.dir, &self.name, AtFlags::empty());
        }
    }
}

/// Prefix and suffix of temporary file names.
const TEMP: (&str, &str) = (".toolcrib-", ".tmp");

/// Returns an unpredictable name for a temporary file.
pub(super) fn temp_name() -> OsString {
    let unique = RandomState::new().hash_one(std::process::id());
    format!("{}{unique:016x}{}", TEMP.0, TEMP.1).into()
}

/// Returns whether the name is one of a temporary file. Listings omit these files, which exist only
/// during a write.
pub(super) fn is_temp_name(name: &[u8]) -> bool {
    name.strip_prefix(TEMP.0.as_bytes())
        .and_then(|rest| rest.strip_suffix(TEMP.1.as_bytes()))
        .is_some_and(|hex| hex.len() == 16 && hex.iter().all(u8::is_ascii_hexdigit))
}

/// Renames an entry; replaces an existing one only if `replace` is set.
pub(super) fn rename(
    from_dir: BorrowedFd<'_>,
    from: &OsStr,
    to_dir: BorrowedFd<'_>,
    to: &OsStr,
    replace: bool,
) -> Result<(), FsErrorKind> {
    let renamed = if replace {
        rustix::fs::renameat(from_dir, from, to_dir, to)
    } else {
        match rustix::fs::renameat_with(from_dir, from, to_dir, to, RenameFlags::NOREPLACE) {
            // The file system does not support `RENAME_NOREPLACE`: check, then rename. Only other
            // programs can interfere in between, since Toolcrib serializes its own changes.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                match rustix::fs::statat(to_dir, to, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(_) => Err(Errno::EXIST),
                    Err(Errno::NOENT) => rustix::fs::renameat(from_dir, from, to_dir, to),
                    Err(errno) => Err(errno),
                }
            }
            other => other,
        }
    };
    renamed.map_err(|errno| match errno {
        Errno::XDEV => FsErrorKind::CrossDevice,
        Errno::INVAL => FsErrorKind::Overlap,
        other => read_only(other),
    })
}

/// Refuses a target that is read-only or in a read-only folder: a rename ignores the target's mode,
/// and the system does not stop a privileged process. `stat` is the existing target.
pub(super) fn check_writable(spot: &ResolvedPath, stat: Option<&Stat>) -> Result<(), FsErrorKind> {
    let folder = rustix::fs::statat(spot.dir(), ".", AtFlags::empty())?;
    if folder.st_mode & 0o222 == 0 {
        return Err(FsErrorKind::ReadOnly);
    }
    let Some(stat) = stat else { return Ok(()) };
    if stat.st_mode & 0o222 == 0 {
        return Err(FsErrorKind::ReadOnly);
    }
    rustix::fs::accessat(spot.dir(), spot.name(), Access::WRITE_OK, AtFlags::EACCESS)
        .map_err(read_only)
}

/// Returns whether both are the same file in the same state.
pub(super) fn is_same(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino, a.st_size) == (b.st_dev, b.st_ino, b.st_size)
        && (a.st_mtime, a.st_mtime_nsec) == (b.st_mtime, b.st_mtime_nsec)
        && (a.st_ctime, a.st_ctime_nsec) == (b.st_ctime, b.st_ctime_nsec)
}

pub(super) fn read_only(errno: Errno) -> FsErrorKind {
    match errno {
        Errno::ACCESS | Errno::PERM | Errno::ROFS => FsErrorKind::ReadOnly,
        other => other.into(),
    }
}
