//! A process that waits in a separate user namespace and shares the memory of this process.

use std::io;
use std::mem::MaybeUninit;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// Calls `work` with the ID of a process that waits in a separate user namespace, and ends that
/// process.
///
/// # Safety
/// The process shares the memory of this one and runs on a stack that is freed when this function
/// returns. Therefore `work` must return or panic; it must not leave the function another way (a
/// long jump, the end of the thread). Until then, no other code of this process may reap its
/// children with `__WALL` or `__WCLONE`: the ID of a reaped process may be reused, and a signal
/// would hit another process.
///
/// # Errors
/// The error of the system call, or the error of `work`.
#[expect(unsafe_code, reason = "no safe call makes a process in new namespaces")]
pub(in crate::linux) unsafe fn with_user_namespace<T>(
    work: impl FnOnce(i32) -> io::Result<T>,
) -> io::Result<T> {
    let mut stack = vec![0_u128; 1024];
    let top: *mut libc::c_void = stack.as_mut_ptr_range().end.cast();
    let blocked = BlockedSignals::new();
    let flags = libc::CLONE_VM | libc::CLONE_NEWUSER;
    // SAFETY: the stack is large enough for two system calls, and its end is aligned. It outlives
    // the process: `Waiting`, declared later, is dropped first and waits for it. `wait` changes no
    // memory except that stack, and no signal handler runs on it, because all signals are blocked.
    let pid = unsafe { libc::clone(wait, top, flags, std::ptr::null_mut()) };
    let pid = Pid::from_raw(pid.max(0)).ok_or_else(io::Error::last_os_error)?;
    let waiting = Waiting(pid);
    drop(blocked);
    work(waiting.0.as_raw_nonzero().get())
}

/// Runs in the process that shares this memory, so it only waits. Both calls go directly to the
/// kernel: libc's wrappers would write to the thread data of the thread that called `clone`.
extern "C" fn wait(_: *mut libc::c_void) -> libc::c_int {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    rustix::event::pause();
    0
}

/// Ends the process, also if `work` panics: the process must not outlive its stack.
struct Waiting(Pid);

impl Drop for Waiting {
    fn drop(&mut self) {
        // waitpid(2): `__WALL` is needed for a process whose end sends no signal.
        let all = WaitOptions::from_bits_retain(libc::__WALL.cast_unsigned());
        let _ = kill_process(self.0, Signal::KILL);
        while let Err(rustix::io::Errno::INTR) = waitpid(Some(self.0), all) {}
    }
}

/// Blocks all signals of this thread until it is dropped.
struct BlockedSignals {
    before: MaybeUninit<libc::sigset_t>,
}

impl BlockedSignals {
    #[expect(unsafe_code, reason = "rustix does not touch the masks of libc's threads")]
    fn new() -> Self {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the call writes a complete set to the pointer's target.
        unsafe { libc::sigfillset(all.as_mut_ptr()) };
        // SAFETY: the first set was written above and is only read; the second is written.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
        Self { before }
    }
}

impl Drop for BlockedSignals {
    #[expect(unsafe_code, reason = "rustix does not touch the masks of libc's threads")]
    fn drop(&mut self) {
        let before = self.before.as_ptr();
        // SAFETY: `new` filled the set, because the call does not fail for a valid operation; it is
        // only read.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find(|line| line.starts_with("SigBlk")).unwrap().to_owned()
    }

    #[test]
    fn signals_are_blocked_and_restored() {
        let before = blocked();
        let all = BlockedSignals::new();
        assert_ne!(blocked(), before);
        drop(all);
        assert_eq!(blocked(), before);
    }

    #[test]
    #[expect(unsafe_code, reason = "the function has a contract")]
    fn the_process_ends_also_when_the_work_panics() {
        let mut seen = 0;
        let work = std::panic::AssertUnwindSafe(|| {
            // SAFETY: `work` panics, and no other code of this test reaps with `__WALL`.
            unsafe {
                with_user_namespace(|pid| -> io::Result<()> {
                    seen = pid;
                    panic!("the work panics")
                })
            }
        });
        match std::panic::catch_unwind(work) {
            // If user namespaces are not available, `work` does not run.
            Ok(result) => assert!(result.is_err(), "the work did not panic"),
            Err(_) => assert!(!std::path::Path::new(&format!("/proc/{seen}")).exists()),
        }
    }
}
