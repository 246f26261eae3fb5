//! Attributes of mounts, `mount_setattr(2)`.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// `struct mount_attr` of mount_setattr(2), which libc lacks.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// `AT_RECURSIVE` of mount_setattr(2): includes all mounts below.
const AT_RECURSIVE: i32 = 0x8000;

/// Sets flags of a mount, and of all mounts below it if `all` is set.
///
/// # Errors
/// The error of the system call.
pub(in crate::linux) fn set_mount(mount: BorrowedFd<'_>, flags: u64, all: bool) -> io::Result<()> {
    let attributes = MountAttributes { set: flags, clear: 0, propagation: 0, user_namespace: 0 };
    set_attributes(mount, &attributes, all)
}

/// `MOUNT_ATTR_IDMAP` of mount_setattr(2): a user namespace maps the owners of files.
const OWNERS: u64 = 0x0010_0000;

/// Sets flags of a mount and all mounts below it, and maps the owners of their files by this user
/// namespace.
///
/// # Errors
/// The error of the system call, for example when a file system does not support it.
pub(in crate::linux) fn set_idmap(
    mount: BorrowedFd<'_>,
    flags: u64,
    owners: BorrowedFd<'_>,
) -> io::Result<()> {
    let user_namespace = u64::try_from(owners.as_raw_fd()).map_err(io::Error::other)?;
    let set = flags | OWNERS;
    // Make the mount private: mounts that the host adds below it later would keep their real
    // owners.
    let propagation = libc::MS_PRIVATE;
    set_attributes(mount, &MountAttributes { set, clear: 0, propagation, user_namespace }, true)
}

#[expect(unsafe_code, reason = "rustix does not have the call")]
fn set_attributes(
    mount: BorrowedFd<'_>,
    attributes: &MountAttributes,
    all: bool,
) -> io::Result<()> {
    let how = libc::AT_EMPTY_PATH | if all { AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a constant that ends in a zero, and the attributes outlive the call,
    // which only reads them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            how,
            std::ptr::from_ref(attributes),
            size_of_val(attributes),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
