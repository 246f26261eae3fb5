//! Descriptors whose numbers or owners change with a fork or the start of a program.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};

/// Marks all descriptors from this number on as close-on-exec.
#[expect(unsafe_code, reason = "rustix does not have the call")]
pub(in crate::linux) fn close_on_exec_from(first: u32) {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: the call changes only a flag of descriptors. An old kernel refuses it; our own
    // descriptors have the flag from the beginning.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, flags) };
}

/// Duplicates a descriptor to this number; the copy stays open when a program starts.
///
/// # Safety
/// The call closes the descriptor that had the number before: no value that this process still uses
/// may own it.
///
/// # Errors
/// The error of the system call.
#[expect(unsafe_code, reason = "a number chosen by hand has no owner")]
pub(in crate::linux) unsafe fn dup_inheritable(
    fd: BorrowedFd<'_>,
    number: RawFd,
) -> io::Result<()> {
    // SAFETY: the call takes numbers; the caller guarantees that the second one has no other owner.
    let result = unsafe { libc::dup2(fd.as_raw_fd(), number) };
    if result == number { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Closes the copy of a descriptor that a fork left in this process.
///
/// # Safety
/// This process never uses or drops the owner of the descriptor again.
#[expect(unsafe_code, reason = "the owner is a value of the parent's code")]
pub(in crate::linux) unsafe fn close(fd: BorrowedFd<'_>) {
    // SAFETY: the caller guarantees that the number is not used or closed a second time.
    unsafe { libc::close(fd.as_raw_fd()) };
}
