//! The thread that starts programs, on Linux.
//!
//! A program asks the system to be killed when its parent dies, so that it does not outlive us when we are killed ourselves. To Linux
//! the parent is the thread that started it (`PR_SET_PDEATHSIG` in prctl(2)), and threads of a runtime come and go. This one stays as
//! long as the process.

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

/// The way to the thread; `None` = the system has none for it.
static STARTER: OnceLock<Option<Sender<Job>>> = OnceLock::new();

/// Starts a program that dies with us; where there is no thread for it, one that does not.
pub(super) async fn start(mut command: Command) -> io::Result<Started> {
    let Some(starter) = STARTER.get_or_init(thread) else { return Started::by(command) };
    die_with_us(&mut command);
    let runtime = Handle::current();
    let (tell, told) = oneshot::channel();
    let job = move || {
        let _inside = runtime.enter();
        // What nobody waits for any more is dropped here, inside the runtime, and so ends.
        drop(tell.send(Started::by(command)));
    };
    let gone = || io::Error::other("the thread that starts programs is gone");
    starter.send(Box::new(job)).map_err(|_| gone())?;
    told.await.unwrap_or_else(|_| Err(gone()))
}

fn thread() -> Option<Sender<Job>> {
    let (jobs, queue) = channel::<Job>();
    let run = move || {
        // The other end is never dropped. A panic (a runtime without I/O) is its caller's: the end of this thread would kill all programs.
        for job in queue {
            drop(catch_unwind(AssertUnwindSafe(job)));
        }
    };
    std::thread::Builder::new().name("toolcrib-starter".into()).spawn(run).ok().map(|_| jobs)
}

/// Has the program killed when the thread that starts it ends.
#[expect(unsafe_code, reason = "nothing else says what a child does before it becomes its program")]
fn die_with_us(command: &mut Command) {
    let us = getpid();
    let bind = move || -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // We may have died before that: then nobody sends it.
        if getppid() == Some(us) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec only async-signal-safe work is allowed. These are two system calls, made without libc; an error is a
    // plain number; nothing is allocated, locked or shared.
    unsafe { command.pre_exec(bind) };
}
