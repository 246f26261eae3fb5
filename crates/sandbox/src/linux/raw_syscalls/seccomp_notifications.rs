//! Questions of a seccomp filter, `seccomp_unotify(2)`.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

/// What the kernel asks on behalf of a filter, `struct seccomp_notif`.
#[repr(C)]
#[derive(Default)]
pub(in crate::linux) struct SyscallNotification {
    pub(in crate::linux) id: u64,
    /// Who asks.
    pub(in crate::linux) pid: u32,
    flags: u32,
    /// The number of the call, and its arguments.
    pub(in crate::linux) call: i32,
    machine: u32,
    at: u64,
    pub(in crate::linux) arguments: [u64; 6],
}

/// What becomes of a call that was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::linux) enum NotificationReply {
    /// It was done.
    Done,
    /// It fails with this number.
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

/// Applies a filter that asks; the descriptor is where it does.
///
/// # Safety
/// From now on the filter decides what each system call of this thread and of its descendants
/// does. It lets a call through, asks, or fails it with an error number that the callers of this
/// process handle; and the process that answers says "done" only for what it did. A filter that
/// reports the success of a call that was not made, such as `mmap` or `munmap`, breaks the memory
/// of this process.
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
    // A signal does not end the wait for an answer once the question was heard (Linux 5.19).
    const WAIT_FOR_THE_ANSWER: libc::c_ulong = 1 << 5;
    let apply = |flags: libc::c_ulong| {
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | flags;
        // SAFETY: the program and its steps outlive the call, which copies them.
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
        // SAFETY: the kernel just made this descriptor for this call; it has no other owner.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Takes the next question of a filter.
///
/// # Errors
/// The error of the system call, also when the process that asked is gone.
#[expect(unsafe_code, reason = "these commands have no safe wrapper")]
pub(in crate::linux) fn receive_notification(
    listener: BorrowedFd<'_>,
) -> io::Result<SyscallNotification> {
    let mut question = SyscallNotification::default();
    // SAFETY: the structure is as large as the command says, zeroed as it wants it, and outlives
    // the call, which fills it.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE, &raw mut question) };
    if result == 0 { Ok(question) } else { Err(io::Error::last_os_error()) }
}

/// Whether the process that asked still exists and waits.
///
/// # Errors
/// It is not.
#[expect(unsafe_code, reason = "these commands have no safe wrapper")]
pub(in crate::linux) fn is_notification_valid(listener: BorrowedFd<'_>, id: u64) -> io::Result<()> {
    // SAFETY: the number is as large as the command says and outlives the call, which reads it.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), IS_VALID, &raw const id) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Answers a question.
///
/// # Errors
/// The error of the system call, also when the process that asked is gone.
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
    // SAFETY: the structure is as large as the command says and outlives the call, which reads it.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), SEND, &raw const answer) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
