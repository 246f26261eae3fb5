//! The system calls that have no safe wrapper.
//!
//! Almost all `unsafe` of the sandbox is in this file: a function that no caller can misuse is
//! safe, every other one is an `unsafe fn` with its contract.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use rustix::process::{Pid, PidfdFlags, Signal};

/// The two sides of a fork.
pub(super) enum Fork {
    /// This is the new process.
    Child,
    /// This is the old one; the descriptor stands for the new one.
    Parent(Forked),
}

/// A new process.
pub(super) struct Forked {
    pub(super) pid: Pid,
    /// Readable when it ended.
    pub(super) pidfd: OwnedFd,
}

/// The flags that make new namespaces. Others, such as `CLONE_VM`, share memory or descriptors with
/// the child, so [`fork`] refuses them.
const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWCGROUP;

/// Forks with these `CLONE_NEW*` flags; the new process starts in this cgroup, if one is given.
///
/// # Errors
/// The error of the system call; and always for other flags, and in a process with several threads,
/// whose child could not even allocate memory.
#[expect(unsafe_code, reason = "no safe call makes a process in new namespaces")]
pub(super) fn fork(flags: i32, group: Option<BorrowedFd<'_>>) -> io::Result<Fork> {
    if flags & !NAMESPACES != 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if threads() != 1 {
        return Err(io::Error::other("this process has several threads"));
    }
    let mut pidfd: RawFd = -1;
    let mut args = clone_args(flags, &raw mut pidfd, group);
    // SAFETY: without CLONE_VM this is a fork: the child has its own copy of everything. The
    // process has one thread (checked above), so no other thread holds a lock that stays locked in
    // the copy, and the child may run any code. `args` and `pidfd` outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of_val(&args)) };
    match result {
        0 => Ok(Fork::Child),
        -1 => {
            let error = io::Error::last_os_error();
            // What old container runtimes say to calls that they do not know.
            if group.is_none() && matches!(error.raw_os_error(), Some(libc::ENOSYS)) {
                // SAFETY: flags and threads were checked above.
                unsafe { clone(flags) }
            } else {
                Err(error)
            }
        }
        pid => {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let pid = pid.ok_or_else(|| io::Error::other("a process without a number"))?;
            // SAFETY: the kernel just made this descriptor for this call; it has no other owner.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Fork::Parent(Forked { pid, pidfd }))
        }
    }
}

/// [`fork`] by the older call.
///
/// # Safety
/// `flags` are in [`NAMESPACES`], and this process has one thread.
#[expect(unsafe_code, reason = "no safe call makes a process in new namespaces")]
unsafe fn clone(flags: i32) -> io::Result<Fork> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: as in `fork`. No stack is given, so the child continues on its copy of this one. The
    // other arguments are null, so their order, which depends on the architecture, does not matter.
    let result = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match i32::try_from(result) {
        Ok(0) => Ok(Fork::Child),
        Ok(pid) if pid > 0 => {
            let pid = Pid::from_raw(pid).ok_or_else(io::Error::last_os_error)?;
            let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
            Ok(Fork::Parent(Forked { pid, pidfd }))
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Of clone3(2): the new process is in this group.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

fn clone_args(flags: i32, pidfd: *mut RawFd, group: Option<BorrowedFd<'_>>) -> libc::clone_args {
    let mut flags = u64::from(flags.unsigned_abs()) | libc::CLONE_PIDFD.unsigned_abs() as u64;
    let group = group.and_then(|group| u64::try_from(group.as_raw_fd()).ok());
    if group.is_some() {
        flags |= CLONE_INTO_CGROUP;
    }
    libc::clone_args {
        flags,
        pidfd: pidfd.addr() as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD.unsigned_abs() as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: group.unwrap_or(0),
    }
}

/// Threads of this process; 0 = unknown.
fn threads() -> usize {
    // Two of the links are the folder itself and its parent; each thread adds one.
    let links = rustix::fs::stat("/proc/self/task").map(|stat| stat.st_nlink);
    links
        .ok()
        .and_then(|links| usize::try_from(links).ok())
        .map_or(0, |links| links.saturating_sub(2))
}

/// `struct mount_attr` of mount_setattr(2), which libc lacks.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Of mount_setattr(2): all mounts under this one too.
const AT_RECURSIVE: i32 = 0x8000;

/// Sets flags of a mount, with all under it if `all`.
///
/// # Errors
/// The error of the system call.
pub(super) fn set_mount(mount: BorrowedFd<'_>, flags: u64, all: bool) -> io::Result<()> {
    let attributes = MountAttributes { set: flags, clear: 0, propagation: 0, user_namespace: 0 };
    set_attributes(mount, &attributes, all)
}

/// Of mount_setattr(2): owners are those that a user namespace makes of them.
const OWNERS: u64 = 0x0010_0000;

/// Sets flags of a mount and all below it, and maps the owners of its files by this user namespace.
///
/// # Errors
/// The error of the system call, among others when one of its file systems does not support it.
pub(super) fn set_idmap(
    mount: BorrowedFd<'_>,
    flags: u64,
    owners: BorrowedFd<'_>,
) -> io::Result<()> {
    let user_namespace = u64::try_from(owners.as_raw_fd()).map_err(io::Error::other)?;
    let set = flags | OWNERS;
    // What the host mounts below it later would come with its own owners: it stays outside.
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

/// Marks every descriptor from this one on to be closed when a program starts.
#[expect(unsafe_code, reason = "rustix does not have the call")]
pub(super) fn close_on_exec_from(first: u32) {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: it changes no descriptor but for a flag. An old kernel refuses; all of ours have the
    // flag from the beginning.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, flags) };
}

/// Every signal does what it does in a fresh process, and none is held back.
#[expect(unsafe_code, reason = "rustix does not touch the tables of libc")]
pub(super) fn reset_signals() {
    for signal in 1..=64 {
        // SAFETY: the default action needs no code of ours; numbers that cannot be set are refused.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: an empty set is made in place, and only read by the second call.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Ended children of this process vanish by themselves, so that none is left as a zombie.
#[expect(unsafe_code, reason = "rustix does not touch the tables of libc")]
pub(super) fn auto_reap_children() {
    // SAFETY: ignoring needs no code of ours.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Calls `work` with the ID of a process that waits in its own user namespace, and ends that
/// process.
///
/// # Errors
/// The error of the system call, or that of `work`.
#[expect(unsafe_code, reason = "no safe call makes a process in new namespaces")]
pub(super) fn with_user_namespace<T>(work: impl FnOnce(i32) -> io::Result<T>) -> io::Result<T> {
    /// Runs in the process that shares this memory, so it only waits. All signals but SIGKILL are
    /// blocked.
    extern "C" fn wait(_: *mut libc::c_void) -> libc::c_int {
        // SAFETY: both calls take numbers only.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::pause();
        }
        0
    }
    /// Ends the process, also when `work` panics: it must not outlive its stack.
    struct Waiting(libc::pid_t);
    impl Drop for Waiting {
        fn drop(&mut self) {
            // SAFETY: both calls take numbers and a null pointer; the child is not reaped before,
            // so its ID is not reused.
            unsafe {
                libc::kill(self.0, libc::SIGKILL);
                while libc::waitpid(self.0, std::ptr::null_mut(), libc::__WALL) < 0
                    && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
                {
                }
            }
        }
    }
    let mut stack = vec![0_u128; 1024];
    let top: *mut libc::c_void = stack.as_mut_ptr_range().end.cast();
    // SAFETY: the stack is as long as two calls of libc need and ends aligned. It outlives the
    // process: `Waiting`, declared later, is dropped first and waits for it. The code on it changes
    // no memory but that stack. Signals are blocked for it and restored in this thread.
    let waiting = unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let flags = libc::CLONE_VM | libc::CLONE_NEWUSER;
        let pid = libc::clone(wait, top, flags, std::ptr::null_mut());
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        if pid < 0 {
            return Err(error);
        }
        Waiting(pid)
    };
    work(waiting.0)
}

/// Becomes another program. Returns only the error.
#[expect(
    unsafe_code,
    reason = "the standard library starts programs only in children that it made"
)]
pub(super) fn execute(program: &CString, args: &[CString], env: &[CString]) -> io::Error {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (args, env) = (pointers(args), pointers(env));
    // SAFETY: both lists end in null, and their texts end in zeros and live until the call replaces
    // this process or fails.
    unsafe { libc::execve(program.as_ptr(), args.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Ends this process at once, without what a library may have registered for its end.
#[expect(unsafe_code, reason = "`std::process::exit` would run what the copied process registered")]
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: it takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// Sends a signal to every process that this one may signal, itself and the first of the namespace
/// excepted.
#[expect(unsafe_code, reason = "rustix has no call for all processes")]
pub(super) fn signal_all(signal: Signal) {
    // SAFETY: the call takes numbers only. Callers are the first process of a namespace, which
    // reaches nothing outside of it.
    unsafe { libc::kill(-1, signal.as_raw()) };
}

/// Brings up the loopback interface of this network namespace.
///
/// # Errors
/// The error of the system call.
#[expect(unsafe_code, reason = "rustix does not have the call")]
pub(super) fn raise_loopback() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: zeros are a valid request; the name is shorter than its field and ends in a zero; the
    // request outlives the call.
    let result = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = from.cast_signed();
        }
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Time on processors of this process's children that were waited for.
#[expect(unsafe_code, reason = "rustix does not have the call")]
pub(super) fn time_of_children() -> std::time::Duration {
    // SAFETY: zeros are a valid value, and the call fills it in place.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let of = |time: libc::timeval| {
        let micros = u64::try_from(time.tv_usec).unwrap_or(0);
        std::time::Duration::from_secs(time.tv_sec.unsigned_abs())
            + std::time::Duration::from_micros(micros)
    };
    of(usage.ru_utime) + of(usage.ru_stime)
}

/// Clock ticks in a second, as `/proc` counts time on processors.
#[expect(unsafe_code, reason = "rustix does not have the value")]
pub(super) fn ticks_per_second() -> u64 {
    // SAFETY: it takes a number and returns one.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|ticks| *ticks > 0).unwrap_or(100)
}

/// The Landlock ABI version of this kernel; `None` if it has none, or Landlock is disabled.
#[expect(unsafe_code, reason = "the library does not expose its own query")]
pub(super) fn landlock_interface() -> Option<i64> {
    const ASK_FOR_THE_VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes no pointer and returns a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0usize,
            ASK_FOR_THE_VERSION,
        )
    };
    (version > 0).then_some(version)
}

/// Duplicates a descriptor to this number, open across the start of a program.
///
/// # Safety
/// The call closes what had the number before: no value that this process still uses owns it.
///
/// # Errors
/// The error of the system call.
#[expect(unsafe_code, reason = "a number chosen by hand has no owner")]
pub(super) unsafe fn dup_inheritable(fd: BorrowedFd<'_>, number: RawFd) -> io::Result<()> {
    // SAFETY: the call takes numbers; the caller guarantees that the second one has no other owner.
    let result = unsafe { libc::dup2(fd.as_raw_fd(), number) };
    if result == number { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// System calls that a sandbox refuses, with arguments that name no memory.
#[derive(Debug, Clone, Copy)]
pub(super) enum RefusedCall {
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
    /// socket(2) of this domain, type and protocol.
    Socket(libc::c_int, libc::c_int, libc::c_int),
}

impl RefusedCall {
    /// Makes the call. If the sandbox does not refuse it, a descriptor that it returns stays open.
    ///
    /// # Errors
    /// The error of the system call.
    #[expect(unsafe_code, reason = "these calls have no safe wrappers")]
    pub(super) fn attempt(self) -> io::Result<()> {
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
        // SAFETY: each pointer among the arguments is null and the rest are numbers, so that the
        // kernel changes no memory and closes no descriptor of this process.
        let result = unsafe { libc::syscall(call, a, b, c, d, e) };
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Leaves namespaces for new ones.
///
/// # Errors
/// The error of the system call; and always for `CLONE_FILES`.
#[expect(unsafe_code, reason = "the call can unshare the descriptor table too")]
pub(super) fn unshare(flags: rustix::thread::UnshareFlags) -> io::Result<()> {
    if flags.contains(rustix::thread::UnshareFlags::FILES) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the call is unsafe for `CLONE_FILES` alone (a thread would lose the descriptors that
    // others open), which was refused above.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Closes the copy of a descriptor that a fork left in this process.
///
/// # Safety
/// This process uses and drops the owner of the descriptor never again.
#[expect(unsafe_code, reason = "the owner is a value of the parent's code")]
pub(super) unsafe fn close(fd: BorrowedFd<'_>) {
    // SAFETY: the caller guarantees that the number is not used or closed a second time.
    unsafe { libc::close(fd.as_raw_fd()) };
}

/// What the kernel asks on behalf of a filter, `struct seccomp_notif`.
#[repr(C)]
#[derive(Default)]
pub(super) struct SyscallNotification {
    pub(super) id: u64,
    /// Who asks.
    pub(super) pid: u32,
    flags: u32,
    /// The number of the call, and its arguments.
    pub(super) call: i32,
    machine: u32,
    at: u64,
    pub(super) arguments: [u64; 6],
}

/// What becomes of a call that was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotificationReply {
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
/// # Errors
/// The error of the system call.
#[expect(unsafe_code, reason = "the library that applies filters has no way to ask")]
pub(super) fn install_notify_filter(program: &[seccompiler::sock_filter]) -> io::Result<OwnedFd> {
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
pub(super) fn receive_notification(listener: BorrowedFd<'_>) -> io::Result<SyscallNotification> {
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
pub(super) fn is_notification_valid(listener: BorrowedFd<'_>, id: u64) -> io::Result<()> {
    // SAFETY: the number is as large as the command says and outlives the call, which reads it.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), IS_VALID, &raw const id) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Answers a question.
///
/// # Errors
/// The error of the system call, also when the process that asked is gone.
#[expect(unsafe_code, reason = "these commands have no safe wrapper")]
pub(super) fn reply_notification(
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

/// Reads up to `most` bytes of the memory of another process, or to the end of its mapping.
///
/// # Errors
/// The error of the system call.
#[expect(unsafe_code, reason = "no safe wrapper exists")]
pub(super) fn read_memory(pid: u32, address: u64, most: usize) -> io::Result<Vec<u8>> {
    const PAGE: u64 = 4096;
    let mut bytes = vec![0; most];
    let mut read = 0;
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    while let Some(room) = bytes.get_mut(read..).filter(|room| !room.is_empty()) {
        let at = address.wrapping_add(read as u64);
        // Page by page: what follows the text may be no memory at all.
        let length = usize::try_from(PAGE - at % PAGE).unwrap_or(0).min(room.len());
        let own = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: length };
        let theirs = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(usize::try_from(at).unwrap_or(0)),
            iov_len: length,
        };
        // SAFETY: the local side is `length` bytes of a buffer that outlives the call and that
        // nothing else uses; only the kernel reads the remote side.
        let count =
            unsafe { libc::process_vm_readv(pid, &raw const own, 1, &raw const theirs, 1, 0) };
        match usize::try_from(count) {
            Ok(count) if count > 0 => read += count,
            _ if read > 0 => break,
            _ => return Err(io::Error::last_os_error()),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

/// Schedules this process before all ordinary ones, but not its children, if it may.
#[expect(unsafe_code, reason = "rustix does not have the call")]
pub(super) fn raise_scheduling() {
    // SAFETY: zeros are a valid value, and the call reads it.
    unsafe {
        let mut order: libc::sched_param = std::mem::zeroed();
        order.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const order);
    }
}

/// Releases the pages of a mapping (`MADV_DONTNEED`): an access reads them from the file again.
///
/// # Safety
/// The range is a private, read-only mapping of a file that nothing has written, neither in memory
/// nor in the file since it was mapped: a later read finds the same bytes.
#[expect(unsafe_code, reason = "no safe call releases pages")]
pub(crate) unsafe fn release_pages(mapping: std::ops::Range<usize>) {
    let start = std::ptr::with_exposed_provenance_mut(mapping.start);
    // SAFETY: the caller guarantees that the content of the range stays the same.
    unsafe { libc::madvise(start, mapping.len(), libc::MADV_DONTNEED) };
}
