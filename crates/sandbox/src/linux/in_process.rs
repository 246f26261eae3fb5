//! Runs one sandbox directly from this process, without a helper: for commands that do nothing
//! else.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::RecvFlags;

use super::control_socket::{self, FaultSource, SupervisorEvent};
use super::exec::Streams;
use super::helper;
use super::plan::Plan;
use super::start_result::{StartProgress, at_level, error_of, levels, no_answer_fault};
use crate::egress::{self, Egress, EgressFilter};
use crate::job::{Job, JobResult};
use crate::policy::Network;
use crate::{Level, SandboxError};

/// Runs a job with the streams of this process and waits for its end. The job also ends when this
/// process ends.
///
/// Must be called while this process has only one thread.
///
/// # Errors
/// [`SandboxError`] if it was not started, or its exit status cannot be determined.
pub fn run_in_process(
    job: &Job,
    strongest: Level,
    egress: &Egress,
) -> Result<JobResult, SandboxError> {
    let plan = Plan::from_job(job)?;
    helper::forget_groups();
    let mut levels = levels(strongest, &job.policy, &plan).into_iter().peekable();
    while let Some(level) = levels.next() {
        let plan = at_level(&plan, level)?;
        let (ours, theirs) = control_socket::pair().map_err(SandboxError::Helper)?;
        let streams = own_streams().map_err(SandboxError::Helper)?;
        let mut begun = StartProgress::default();
        let started = helper::fork(&plan, level, &theirs, streams, Some(&ours))
            .and_then(|_| wait_for_start(&ours, theirs, &mut begun));
        match started {
            Ok(()) => return wait_until_ended(job, level, &ours, begun, egress),
            Err(fault) if fault.of == FaultSource::Host && levels.peek().is_some() => {}
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
    begun: &mut StartProgress,
) -> Result<(), control_socket::Fault> {
    // Only our end stays open: when the sandbox is gone, its end is closed.
    drop(theirs);
    loop {
        match control_socket::receive::<SupervisorEvent>(control, RecvFlags::empty()) {
            Ok(Some((event, fds))) => {
                if let Some(result) = begun.handle_event(event, fds) {
                    return result;
                }
            }
            Ok(None) | Err(_) => return Err(no_answer_fault()),
        }
    }
}

fn wait_until_ended(
    job: &Job,
    level: Level,
    control: &OwnedFd,
    begun: StartProgress,
    egress: &Egress,
) -> Result<JobResult, SandboxError> {
    let gate = match &job.policy.network {
        Network::Hosts(hosts) => Some(EgressFilter::new(hosts.clone(), egress.clone())),
        _ => None,
    };
    if let (Some(gate), Some(listener)) = (&gate, begun.listener) {
        let gate = Arc::clone(gate);
        let serving = std::thread::Builder::new().name("toolcrib-proxy".into());
        serving.spawn(move || serve(listener, gate)).map_err(SandboxError::Helper)?;
    }
    let ended = loop {
        match control_socket::receive::<SupervisorEvent>(control, RecvFlags::empty()) {
            Ok(Some((SupervisorEvent::Ended { status, stopped, cpu_micros }, _))) => {
                let cpu = Duration::from_micros(cpu_micros);
                let refused = gate.map(|gate| gate.refused()).unwrap_or_default();
                break JobResult { status, stopped, level, cpu, refused };
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                return Err(SandboxError::Helper(io::Error::other("the sandbox vanished")));
            }
            Err(error) => return Err(SandboxError::Helper(error)),
        }
    };
    // Its first process ends last.
    let _ = rustix::process::wait(rustix::process::WaitOptions::empty());
    Ok(ended)
}

/// Serves the proxy until this process ends.
fn serve(listener: std::net::TcpListener, gate: Arc<EgressFilter>) {
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
