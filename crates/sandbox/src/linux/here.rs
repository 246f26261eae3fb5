//! A sandbox made by this very process, for a command that does nothing else: no helper has to be started for it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::RecvFlags;

use super::command::Streams;
use super::control::{self, Blame, Event};
use super::plan::Plan;
use super::start::{Begun, at_level, error_of, levels, silent};
use super::worker;
use crate::egress::{self, Egress, Gate};
use crate::job::{Ended, Job};
use crate::policy::Network;
use crate::{Level, SandboxError};

/// Runs a job with the streams of this process, and waits for its end. When this process ends, the job does too.
///
/// To be called while this process has one thread only.
///
/// # Errors
/// [`SandboxError`] when it was not started, or nobody can say how it ended.
pub fn run_here(job: &Job, strongest: Level, egress: &Egress) -> Result<Ended, SandboxError> {
    let plan = Plan::of(job)?;
    worker::forget_groups();
    let mut levels = levels(strongest, &job.policy, &plan).into_iter().peekable();
    while let Some(level) = levels.next() {
        let plan = at_level(&plan, level)?;
        let (ours, theirs) = control::pair().map_err(SandboxError::Helper)?;
        let streams = own_streams().map_err(SandboxError::Helper)?;
        let mut begun = Begun::default();
        let started = worker::fork(&plan, level, &theirs, streams, Some(&ours))
            .and_then(|()| wait_for_start(&ours, theirs, &mut begun));
        match started {
            Ok(()) => return see_to_end(job, level, &ours, begun, egress),
            Err(fault) if fault.of == Blame::Host && levels.peek().is_some() => {}
            Err(fault) => return Err(error_of(fault, level, &job.policy)),
        }
    }
    Err(SandboxError::BelowMinimum {
        minimum: job.policy.minimum,
        strongest,
        reason: String::new(),
    })
}

fn own_streams() -> io::Result<Streams> {
    let copy = |fd: std::os::fd::BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(fd, 3);
    Ok(Streams {
        stdin: copy(io::stdin().as_fd())?,
        stdout: copy(io::stdout().as_fd())?,
        stderr: copy(io::stderr().as_fd())?,
        bridge: None,
    })
}

fn wait_for_start(
    control: &OwnedFd,
    theirs: OwnedFd,
    begun: &mut Begun,
) -> Result<(), control::Fault> {
    // Ours alone: when the sandbox is gone, its end is closed.
    drop(theirs);
    loop {
        match control::receive::<Event>(control, RecvFlags::empty()) {
            Ok(Some((event, fds))) => {
                if let Some(result) = begun.hear(event, fds) {
                    return result;
                }
            }
            Ok(None) | Err(_) => return Err(silent()),
        }
    }
}

fn see_to_end(
    job: &Job,
    level: Level,
    control: &OwnedFd,
    begun: Begun,
    egress: &Egress,
) -> Result<Ended, SandboxError> {
    let gate = match &job.policy.network {
        Network::Hosts(hosts) => Some(Gate::new(hosts.clone(), egress.clone())),
        _ => None,
    };
    if let (Some(gate), Some(listener)) = (&gate, begun.listener) {
        let gate = Arc::clone(gate);
        let serving = std::thread::Builder::new().name("toolcrib-proxy".into());
        serving.spawn(move || serve(listener, gate)).map_err(SandboxError::Helper)?;
    }
    let ended = loop {
        match control::receive::<Event>(control, RecvFlags::empty()) {
            Ok(Some((Event::Ended { status, stopped, cpu_micros }, _))) => {
                let cpu = Duration::from_micros(cpu_micros);
                let refused = gate.map(|gate| gate.refused()).unwrap_or_default();
                break Ended { status, stopped, level, cpu, refused };
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                return Err(SandboxError::Helper(io::Error::other("the sandbox vanished")));
            }
            Err(error) => return Err(SandboxError::Helper(error)),
        }
    };
    // Its first process goes last.
    let _ = rustix::process::wait(rustix::process::WaitOptions::empty());
    Ok(ended)
}

/// Serves the proxy until this process ends.
fn serve(listener: std::net::TcpListener, gate: Arc<Gate>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let listener = listener
            .set_nonblocking(true)
            .and_then(|()| tokio::net::TcpListener::from_std(listener));
        if let Ok(listener) = listener {
            egress::serve(listener, gate).await;
        }
    });
}
