//! Folders and files: whether they exist, belong to the user, and are not accessible to other
//! users.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;

use super::Finding;
use crate::bootstrap;
use crate::output::Failure;

const NAME: &str = "files";
const DISK: &str = "disk";

/// Below this free space, calls are soon refused.
const DISK_FAIL_BYTES: u64 = 64 * 1024 * 1024;
/// Below this free space, the check warns.
const DISK_WARN_BYTES: u64 = 1024 * 1024 * 1024;

pub(super) fn check(fix: bool) -> Result<Vec<Finding>, Failure> {
    let state = bootstrap::state_folder()?;
    let mut found = Vec::new();
    if !state.exists() {
        found.push(missing(&state, fix));
    } else if let Some(unwritable) = unwritable(&state) {
        found.push(unwritable);
    }
    let config = bootstrap::config_folder();
    // Others may read the configuration, as long as they cannot write it: the keys in separate
    // files are protected.
    let open = config.iter().map(|path| (path.clone(), 0o022));
    let closed = private_paths(&state).into_iter().map(|path| (path, 0o077));
    for (path, forbidden) in open.chain(closed) {
        found.extend(mode(&path, forbidden, fix));
    }
    if found.is_empty() {
        found.push(Finding::ok(NAME, format!("{} is accessible to you only", state.display())));
    }
    found.push(disk_space(&state));
    Ok(found)
}

/// Returns files that only their owner may read.
fn private_paths(state: &Path) -> Vec<PathBuf> {
    let mut all = vec![state.to_owned()];
    for folder in ["", "vault", "audit", "daemon"] {
        let folder = state.join(folder);
        if !all.contains(&folder) {
            all.push(folder.clone());
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        all.extend(entries.map(|entry| entry.path()).filter(|path| !path.is_dir()));
    }
    all.retain(|path| path.symlink_metadata().is_ok());
    all
}

fn missing(state: &Path, fix: bool) -> Finding {
    let shown = state.display();
    // Check the folder in which it will be created.
    if let Some(above) = state.ancestors().find(|path| path.exists())
        && let Some(unwritable) = unwritable(above)
    {
        return unwritable;
    }
    if !fix {
        return Finding::ok(
            NAME,
            format!("{shown} does not exist yet; the first command that needs it creates it"),
        );
    }
    match DirBuilder::new().recursive(true).mode(0o700).create(state) {
        Ok(()) => Finding::fixed(NAME, format!("created {shown}")),
        Err(error) => Finding::fail(NAME, format!("{shown} cannot be created: {error}"))
            .with_fix(WRITABLE_HOME),
    }
}

/// Advice if the state folder cannot be written.
const WRITABLE_HOME: &str =
    "make it writable, or set TOOLCRIB_HOME to a writable folder; no data is lost";

/// Returns a finding if a folder is on a read-only file system, or this user may not change it.
fn unwritable(folder: &Path) -> Option<Finding> {
    let why = match rustix::fs::access(folder, rustix::fs::Access::WRITE_OK) {
        Err(error) => error.to_string(),
        Ok(()) if holds_no_files(folder) => "its file system cannot store files".to_owned(),
        Ok(()) => return None,
    };
    let words = format!("{} is not writable: {why}", folder.display());
    Some(Finding::fail(NAME, words).with_fix(WRITABLE_HOME))
}

/// Returns a finding on the owner or mode of a file.
fn mode(path: &Path, forbidden: u32, fix: bool) -> Option<Finding> {
    let shown = path.display();
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => return Some(Finding::fail(NAME, format!("{shown}: {error}"))),
    };
    let own = rustix::process::geteuid().as_raw();
    // Root owns the machine.
    if metadata.uid() != own && metadata.uid() != 0 {
        let uid = metadata.uid();
        return Some(
            Finding::fail(NAME, format!("{shown} belongs to the user {uid}, not to you"))
                .with_fix(format!("find out why; `sudo chown {own} {shown}` makes you the owner")),
        );
    }
    let mode = metadata.mode() & 0o7777;
    if mode & forbidden == 0 {
        return None;
    }
    let wanted = mode & !forbidden;
    let words = format!("other users can access {shown} (mode {:03o})", mode & 0o777);
    if fix && metadata.uid() == own {
        return Some(restrict_mode(path, &metadata, wanted, &words));
    }
    Some(
        Finding::fail(NAME, words)
            .with_fix(format!("chmod {wanted:03o} {shown}, or `toolcrib doctor --fix`")),
    )
}

fn restrict_mode(path: &Path, metadata: &Metadata, wanted: u32, words: &str) -> Finding {
    if metadata.is_symlink() {
        return Finding::fail(NAME, words);
    }
    match fs::set_permissions(path, Permissions::from_mode(wanted)) {
        Ok(()) => Finding::fixed(NAME, format!("{words}; changed the mode to {wanted:03o}")),
        Err(error) => {
            Finding::fail(NAME, format!("{words}, and the mode cannot be changed: {error}"))
        }
    }
}

/// Returns whether a file system is read-only, or has no blocks for files, such as sysfs: root's
/// permission to write is then meaningless.
fn holds_no_files(folder: &Path) -> bool {
    rustix::fs::statvfs(folder)
        .is_ok_and(|found| found.f_blocks == 0 || found.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Checks the free space on the disk of the state folder.
fn disk_space(state: &Path) -> Finding {
    let there = state.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let free = match rustix::fs::statvfs(there) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
        Err(error) => return Finding::warn(DISK, format!("the free space is unknown: {error}")),
    };
    if holds_no_files(there) {
        let words = format!("{} is on a read-only file system", state.display());
        return Finding::fail(DISK, words).with_fix(WRITABLE_HOME);
    }
    let words = format!("{} MB free on the disk of {}", free / 1_000_000, state.display());
    match free {
        0..DISK_FAIL_BYTES => Finding::fail(DISK, words)
            .with_fix("free some space: calls with side effects are refused on a full disk"),
        DISK_FAIL_BYTES..DISK_WARN_BYTES => Finding::warn(DISK, words),
        _ => Finding::ok(DISK, words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::FindingState;

    #[test]
    fn what_is_open_is_closed_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, "x").unwrap();
        let set = |mode| fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        set(0o600);
        assert_eq!(mode(&path, 0o077, false), None);
        set(0o644);
        let found = mode(&path, 0o077, false).unwrap();
        assert_eq!(found.state, FindingState::Fail);
        assert!(found.fix.unwrap().contains("chmod 600"));
        assert_eq!(mode(&path, 0o022, false), None, "others may read it, where that is meant");
        assert_eq!(mode(&path, 0o077, true).unwrap().state, FindingState::Fixed);
        assert_eq!(mode(&path, 0o077, false), None);
        assert_eq!(mode(&folder.path().join("gone"), 0o077, true), None);
    }
}
