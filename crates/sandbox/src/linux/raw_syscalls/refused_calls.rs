//! System calls that a sandbox refuses, for its self test.

use std::io;

/// A system call that a sandbox refuses, with arguments that reference no memory.
#[derive(Debug, Clone, Copy)]
pub(in crate::linux) enum RefusedCall {
    /// ptrace(2), `PTRACE_TRACEME`.
    Ptrace,
    /// mount(2).
    Mount,
    /// unshare(2) of the user namespace.
    NewUserNamespace,
    /// keyctl(2).
    KeyControl,
    /// bpf(2).
    Bpf,
    /// `io_uring_setup(2)`.
    IoUringSetup,
    /// `perf_event_open(2)`.
    PerfEventOpen,
    /// userfaultfd(2).
    Userfaultfd,
    /// ioctl(2), `TIOCSTI` on standard input.
    TerminalInput,
    /// `open_by_handle_at(2)`.
    OpenByHandle,
    /// socket(2) with this domain, type and protocol.
    Socket(libc::c_int, libc::c_int, libc::c_int),
}

impl RefusedCall {
    /// Makes the call. If the sandbox does not refuse it, a descriptor that it returns stays open.
    ///
    /// # Errors
    /// The error of the system call.
    #[expect(unsafe_code, reason = "these calls have no safe wrappers")]
    pub(in crate::linux) fn attempt(self) -> io::Result<()> {
        let (call, [a, b, c, d, e]): (libc::c_long, [libc::c_long; 5]) = match self {
            Self::Ptrace => (libc::SYS_ptrace, [0; 5]),
            Self::Mount => (libc::SYS_mount, [0; 5]),
            Self::NewUserNamespace => (libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0, 0]),
            Self::KeyControl => (libc::SYS_keyctl, [0; 5]),
            Self::Bpf => (libc::SYS_bpf, [0; 5]),
            Self::IoUringSetup => (libc::SYS_io_uring_setup, [1, 0, 0, 0, 0]),
            Self::PerfEventOpen => (libc::SYS_perf_event_open, [0, 0, -1, -1, 0]),
            Self::Userfaultfd => (libc::SYS_userfaultfd, [0; 5]),
            Self::TerminalInput => (libc::SYS_ioctl, [0, 0x5412, 0, 0, 0]),
            Self::OpenByHandle => (libc::SYS_open_by_handle_at, [-1, 0, 0, 0, 0]),
            Self::Socket(domain, kind, protocol) => {
                (libc::SYS_socket, [domain.into(), kind.into(), protocol.into(), 0, 0])
            }
        };
        // SAFETY: each pointer among the arguments is null and the others are numbers, so the
        // kernel changes no memory and closes no descriptor of this process.
        let result = unsafe { libc::syscall(call, a, b, c, d, e) };
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
