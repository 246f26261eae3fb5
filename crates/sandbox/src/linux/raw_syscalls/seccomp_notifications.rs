//! Notifications of a seccomp filter, `seccomp_unotify(2)`.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

/// A notification by the kernel on behalf of a filter, `struct seccomp_notif`.
#[repr(C)]
#[derive(Default)]
pub(in crate::linux) struct SyscallNotification {
    pub(in crate::linux) id: u64,
    /// The calling process.
    pub(in crate::linux) pid: u32,
    flags: u32,
    /// The number of the system call, and its arguments.
    pub(in crate::linux) call: i32,
    machine: u32,
    at: u64,
    pub(in crate::linux) arguments: [u64; 6],
}

/// The reply to a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::linux) enum NotificationReply {
    /// The call succeeds.
    Done,
    /// The call fails with this error number.
    Fail(i32),
}

/// `struct seccomp_notif_resp`.
#[repr(C)]
struct RawReply {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// `SECCOMP_IOCTL_NOTIF_RECV`, `_SEND` and `_ID_VALID`: direction, size, `!`, number.
const RECEIVE: libc::c_ulong = 0xC050_2100;

const SEND: libc::c_ulong = 0xC018_2101;

const IS_VALID: libc::c_ulong = 0x4008_2102;

/// Installs a filter that sends notifications; returns their descriptor.
///
/// # Safety
/// From now on the filter determines the effect of each system call of this thread and its
/// descendants. It must allow a call, notify, or fail it with an error number that the callers in
/// this process handle; and the process that answers must reply "done" only for actions that it
/// performed. A filter that reports the success of a call that was not made, such as `mmap` or
/// `munmap`, breaks the memory of this process.
///
/// # Errors
/// The error of the system call.
#[expect(unsafe_code, reason = "the library that applies filters has no way to ask")]
pub(in crate::linux) unsafe fn install_notify_filter(
    program: &[seccompiler::sock_filter],
) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Program {
        length: libc::c_ushort,
        steps: *const seccompiler::sock_filter,
    }
    let length = libc::c_ushort::try_from(program.len()).map_err(io::Error::other)?;
    let program = Program { length, steps: program.as_ptr() };
    // Once a notification was received, only fatal signals end the wait for the answer (Linux
    // 5.19).
    const WAIT_FOR_THE_ANSWER: libc::c_ulong = 1 << 5;
    let apply = |flags: libc::c_ulong| {
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | flags;
        // SAFETY: the program and its instructions outlive the call, which copies them.
        unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        }
    };
    let fd = match apply(WAIT_FOR_THE_ANSWER) {
        -1 => apply(0),
        fd => fd,
    };
    match RawFd::try_from(fd) {
        // SAFETY: the kernel just created this descriptor for this call; it has no other owner.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Receives the next notification of a filter.
///
/// # Errors
/// The error of the system call, also if the calling process has ended.
#[expect(unsafe_code, reason = "these commands have no safe wrapper")]
pub(in crate::linux) fn receive_notification(
    listener: BorrowedFd<'_>,
) -> io::Result<SyscallNotification> {
    let mut question = SyscallNotification::default();
    // SAFETY: the structure has the size that the command states, is zeroed as required, and
    // outlives the call, which fills it.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE, &raw mut question) };
    if result == 0 { Ok(question) } else { Err(io::Error::last_os_error()) }
}

/// Checks that the calling process still exists and waits.
///
/// # Errors
/// The process no longer waits.
#[expect(unsafe_code, reason = "these commands have no safe wrapper")]
pub(in crate::linux) fn is_notification_valid(listener: BorrowedFd<'_>, id: u64) -> io::Result<()> {
    // SAFETY: the number has the size that the command states and outlives the call, which reads
    // it.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), IS_VALID, &raw const id) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Replies to a notification.
///
/// # Errors
/// The error of the system call, also if the calling process has ended.
#[expect(unsafe_code, reason = "these commands have no safe wrapper")]
pub(in crate::linux) fn reply_notification(
    listener: BorrowedFd<'_>,
    id: u64,
    reply: NotificationReply,
) -> io::Result<()> {
    let error = match reply {
        NotificationReply::Done => 0,
        NotificationReply::Fail(error) => -error,
    };
    let answer = RawReply { id, value: 0, error, flags: 0 };
    // SAFETY: the structure has the size that the command states and outlives the call, which reads
    // it.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), SEND, &raw const answer) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
