//! Process creation and end: forks into namespaces, `execve`, `_exit`.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use rustix::process::{Pid, PidfdFlags};

/// The two sides of a fork.
pub(in crate::linux) enum Fork {
    /// The new process.
    Child,
    /// The old process, with a handle to the new one.
    Parent(Forked),
}

/// A new process.
pub(in crate::linux) struct Forked {
    pub(in crate::linux) pid: Pid,
    /// Becomes readable when the process ends.
    pub(in crate::linux) pidfd: OwnedFd,
}

/// The flags that create new namespaces. [`fork`] refuses all others: flags such as `CLONE_VM`
/// share memory or descriptors with the child.
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
/// The error of the system call; also for other flags, and in a process with several threads, whose
/// child could not even allocate memory.
#[expect(unsafe_code, reason = "no safe call makes a process in new namespaces")]
pub(in crate::linux) fn fork(flags: i32, group: Option<BorrowedFd<'_>>) -> io::Result<Fork> {
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
            // Old container runtimes return this error for calls that they do not know.
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
            // SAFETY: the kernel just created this descriptor for this call; it has no other owner.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Fork::Parent(Forked { pid, pidfd }))
        }
    }
}

/// Same as [`fork`], with the older system call.
///
/// # Safety
/// `flags` must be in [`NAMESPACES`], and this process must have one thread.
#[expect(unsafe_code, reason = "no safe call makes a process in new namespaces")]
unsafe fn clone(flags: i32) -> io::Result<Fork> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: as in `fork`. No stack is given, so the child continues on its copy of this stack.
    // The other arguments are null, so their order, which depends on the architecture, does not
    // matter.
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

/// Flag of clone3(2) that creates the new process in a cgroup.
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

/// Returns the number of threads of this process; 0 if unknown.
fn threads() -> usize {
    // Two of the links are the folder itself and its parent; each thread adds one.
    let links = rustix::fs::stat("/proc/self/task").map(|stat| stat.st_nlink);
    links
        .ok()
        .and_then(|links| usize::try_from(links).ok())
        .map_or(0, |links| links.saturating_sub(2))
}

/// Moves this process into new namespaces.
///
/// # Errors
/// The error of the system call; also for `CLONE_FILES`.
#[expect(unsafe_code, reason = "the call can unshare the descriptor table too")]
pub(in crate::linux) fn unshare(flags: rustix::thread::UnshareFlags) -> io::Result<()> {
    if flags.contains(rustix::thread::UnshareFlags::FILES) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the call is unsafe only for `CLONE_FILES` (a thread would lose descriptors that other
    // threads open), which was refused above.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Replaces this process by another program. Returns only on failure, with the error.
#[expect(
    unsafe_code,
    reason = "the standard library starts programs only in children that it made"
)]
pub(in crate::linux) fn execute(program: &CString, args: &[CString], env: &[CString]) -> io::Error {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (args, env) = (pointers(args), pointers(env));
    // SAFETY: both lists end in null, and their texts end in zeros and live until the call replaces
    // this process or fails.
    unsafe { libc::execve(program.as_ptr(), args.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Ends this process immediately, without running exit handlers of libraries.
#[expect(unsafe_code, reason = "`std::process::exit` would run what the copied process registered")]
pub(in crate::linux) fn exit_now(code: i32) -> ! {
    // SAFETY: the call takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// Resets all signal handlers to their defaults and unblocks all signals.
#[expect(unsafe_code, reason = "rustix does not touch the tables of libc")]
pub(in crate::linux) fn reset_signals() {
    for signal in 1..=64 {
        // SAFETY: the default action needs no code of ours; the kernel refuses numbers that cannot
        // be set.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the call writes a complete set to the pointer's target.
    unsafe { libc::sigemptyset(none.as_mut_ptr()) };
    // SAFETY: the set was written above and is only read; the null pointer requests no old set.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut()) };
}

/// Lets the kernel reap ended children of this process, so that none remains as a zombie.
#[expect(unsafe_code, reason = "rustix does not touch the tables of libc")]
pub(in crate::linux) fn auto_reap_children() {
    // SAFETY: ignoring needs no code of ours.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}
