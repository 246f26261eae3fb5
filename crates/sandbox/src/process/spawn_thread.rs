//! The thread that spawns programs on Linux.
//!
//! A program gets a parent-death signal, so that it does not outlive this process if this process
//! is killed. Linux treats the spawning thread as the parent (`PR_SET_PDEATHSIG` in prctl(2)), and
//! threads of a runtime end at any time. This thread lives as long as the process.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::Started;

type Job = Box<dyn FnOnce() + Send>;

/// Channel to the thread; `None` if it could not be started.
static STARTER: OnceLock<Option<Sender<Job>>> = OnceLock::new();

/// Starts a program that dies with this process; without the thread, the program gets no
/// parent-death signal.
pub(super) async fn start(mut command: Command) -> io::Result<Started> {
    let Some(starter) = STARTER.get_or_init(thread) else { return Started::by(command) };
    die_with_us(&mut command);
    let runtime = Handle::current();
    let (tell, told) = oneshot::channel();
    let job = move || {
        let _inside = runtime.enter();
        // If the caller has dropped its future, the program is dropped here, inside the runtime,
        // which ends it.
        drop(tell.send(Started::by(command)));
    };
    let gone = || io::Error::other("the thread that starts programs is gone");
    starter.send(Box::new(job)).map_err(|_| gone())?;
    told.await.unwrap_or_else(|_| Err(gone()))
}

fn thread() -> Option<Sender<Job>> {
    let (jobs, queue) = channel::<Job>();
    let run = move || {
        // The sender is never dropped. A panic (a runtime without I/O) is caught, because the end
        // of this thread would kill all programs.
        for job in queue {
            drop(catch_unwind(AssertUnwindSafe(job)));
        }
    };
    std::thread::Builder::new().name("toolcrib-starter".into()).spawn(run).ok().map(|_| jobs)
}

/// Sets the parent-death signal of the program.
#[expect(unsafe_code, reason = "nothing else says what a child does before it becomes its program")]
fn die_with_us(command: &mut Command) {
    let us = getpid();
    let bind = move || -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // If the parent died before that, the signal is never sent.
        if getppid() == Some(us) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: only async-signal-safe code is allowed between fork and exec. These are two direct
    // system calls; an error is a plain number; nothing is allocated, locked or shared.
    unsafe { command.pre_exec(bind) };
}
