//! ID-mapped mount of `/etc`, in which files of root belong to an unmapped user.
//!
//! A program that root starts owns root's files even without capabilities, so it could read the
//! files in `/etc` that only root may read. In this mount the kernel applies the permissions for
//! others, at every access, and no file has to be searched for and hidden. If it is not available
//! (not root, Linux before 5.12, file systems without support), private files are searched for
//! instead.
#![deny(clippy::indexing_slicing)]

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{OpenTreeFlags, open_tree};

use super::mount_namespace::{NO_DEV, NO_SUID, READ_ONLY};
use super::raw_syscalls;

/// The mounted folder.
pub(super) const FOLDER: &str = "/etc";

/// The user id of root in this mount: the kernel's overflow id.
const NOBODY: u32 = 65534;

/// The mount of the feature test, reused for the first sandbox that needs one.
static SPARE_MOUNT: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// Returns whether ID-mapped mounts work here. Tested once; only root needs one.
pub(super) fn is_supported() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
        let made = rustix::process::geteuid().is_root().then(make).and_then(Result::ok);
        let works = made.is_some();
        *SPARE_MOUNT.lock().unwrap_or_else(PoisonError::into_inner) = made;
        works
    })
}

/// Creates the detached mount.
pub(super) fn mount_tree() -> io::Result<OwnedFd> {
    let tried = SPARE_MOUNT.lock().unwrap_or_else(PoisonError::into_inner).take();
    tried.map_or_else(make, Ok)
}

fn make() -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(rustix::fs::CWD, FOLDER, flags)?;
    raw_syscalls::set_idmap(tree.as_fd(), READ_ONLY | NO_SUID | NO_DEV, owners()?.as_fd())?;
    Ok(tree)
}

/// Returns the user namespace that defines the mapping, created once.
#[expect(unsafe_code, reason = "the process in the namespace shares the memory of this one")]
fn owners() -> io::Result<&'static OwnedFd> {
    static OWNERS: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let made = OWNERS.get_or_init(|| {
        let map = |pid: i32| -> io::Result<OwnedFd> {
            for file in ["uid_map", "gid_map"] {
                fs::write(format!("/proc/{pid}/{file}"), format!("0 {NOBODY} 1"))?;
            }
            let path = format!("/proc/{pid}/ns/user");
            Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
        };
        // SAFETY: `map` writes two files and opens one. Nothing in this process reaps children
        // with `__WALL` or `__WCLONE`: the standard library and tokio wait for those that they
        // started, by their IDs.
        unsafe { raw_syscalls::with_user_namespace(map) }.ok()
    });
    made.as_ref().ok_or_else(|| io::Error::other("no user namespace can be made"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_root_belong_to_the_overflow_user() {
        use std::os::unix::fs::MetadataExt as _;
        if !is_supported() {
            return eprintln!("NOT TRIED: this is not root, or the file system cannot do it");
        }
        // A detached mount can be accessed through its descriptor.
        let tree = mount_tree().unwrap();
        let path =
            |name: &str| format!("/proc/self/fd/{}/{name}", std::os::fd::AsRawFd::as_raw_fd(&tree));
        let seen = fs::metadata(path("passwd")).unwrap();
        assert_eq!(fs::metadata("/etc/passwd").unwrap().uid(), 0);
        assert_eq!((seen.uid(), seen.gid()), (NOBODY, NOBODY));
        assert!(fs::read_to_string(path("passwd")).unwrap().contains("root:"));
        assert!(fs::write(path("passwd"), "").is_err());
    }
}
