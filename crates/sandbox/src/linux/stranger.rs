//! `/etc` as a stranger sees it: a mount in which whatever root owns belongs to nobody.
//!
//! A program that root starts is root to files outside of the sandbox, also without any of root's rights, so what of `/etc` only root may read
//! would be its own to read. In this mount the kernel asks what everybody may do, for each file at each time, and nothing has to be looked
//! for and covered. Where it cannot be had (not root, Linux before 5.12, file systems that cannot do it), what is private is looked for.
#![deny(clippy::indexing_slicing)]

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{OpenTreeFlags, open_tree};

use super::root::{NO_DEV, NO_SUID, READ_ONLY};
use super::sys;

/// The folder.
pub(super) const FOLDER: &str = "/etc";

/// Whom root is in this mount: whoever the kernel itself takes for nobody.
const NOBODY: u32 = 65534;

/// The mount by which was tried whether it can be made, for whoever wants one next.
static TRIED: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// Whether there is such a mount here. Tried once; only root needs one.
pub(super) fn works() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
        let made = rustix::process::geteuid().is_root().then(make).and_then(Result::ok);
        let works = made.is_some();
        *TRIED.lock().unwrap_or_else(PoisonError::into_inner) = made;
        works
    })
}

/// The mount, not yet anywhere.
pub(super) fn tree() -> io::Result<OwnedFd> {
    let tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner).take();
    tried.map_or_else(make, Ok)
}

fn make() -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(rustix::fs::CWD, FOLDER, flags)?;
    sys::set_owners(tree.as_fd(), READ_ONLY | NO_SUID | NO_DEV, owners()?.as_fd())?;
    Ok(tree)
}

/// The user namespace that says who is who in the mount, made once.
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
        sys::with_user_namespace(map).ok()
    });
    made.as_ref().ok_or_else(|| io::Error::other("no user namespace can be made"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_owns_nothing_in_it() {
        use std::os::unix::fs::MetadataExt as _;
        if !works() {
            return eprintln!("NOT TRIED: this is not root, or the file system cannot do it");
        }
        // As long as it is nowhere it can be looked into by its descriptor.
        let tree = tree().unwrap();
        let path =
            |name: &str| format!("/proc/self/fd/{}/{name}", std::os::fd::AsRawFd::as_raw_fd(&tree));
        let seen = fs::metadata(path("passwd")).unwrap();
        assert_eq!(fs::metadata("/etc/passwd").unwrap().uid(), 0);
        assert_eq!((seen.uid(), seen.gid()), (NOBODY, NOBODY));
        assert!(fs::read_to_string(path("passwd")).unwrap().contains("root:"));
        assert!(fs::write(path("passwd"), "").is_err());
    }
}
