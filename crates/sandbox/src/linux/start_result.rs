//! Start of a sandbox: the order of levels to try, and the conversion of start events to results.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::control_socket::{Fault, FaultSource, SupervisorEvent};
use super::plan::{Action, Net, Plan};
use super::proot;
use super::raw_syscalls;
use crate::policy::Policy;
use crate::process::{DEFAULT_PATH, StartError, find_program};
use crate::{Level, SandboxError};

/// What is known about a starting sandbox.
#[derive(Default)]
pub(super) struct StartProgress {
    /// Of its first process.
    pub(super) pidfd: Option<OwnedFd>,
    /// Socket on which the proxy must be served.
    pub(super) listener: Option<TcpListener>,
}

impl StartProgress {
    /// Handles an event of the sandbox; `Some` when the program runs or the start failed.
    pub(super) fn handle_event(
        &mut self,
        event: SupervisorEvent,
        fds: Vec<OwnedFd>,
    ) -> Option<Result<(), Fault>> {
        match event {
            SupervisorEvent::Forked => self.pidfd = fds.into_iter().next(),
            SupervisorEvent::Listening => {
                self.listener = fds.into_iter().next().map(TcpListener::from);
            }
            SupervisorEvent::Started
            | SupervisorEvent::Swept { .. }
            | SupervisorEvent::Ended { .. } => return Some(Ok(())),
            SupervisorEvent::Failed(fault) => return Some(Err(fault)),
        }
        None
    }
}

/// Returns the fault of a start that ended without an event.
pub(super) fn no_answer_fault() -> Fault {
    Fault { of: FaultSource::Host, step: "starting".to_owned(), errno: 0 }
}

/// Returns the levels to try for a policy, strongest first. If the policy requires no isolation,
/// another root file system is also available without namespaces (proot), but not at the reduced
/// level.
pub(super) fn levels(strongest: Level, policy: &Policy, plan: &Plan) -> Vec<Level> {
    let skipped = (plan.has_rootfs() && policy.minimum == Level::None).then_some(Level::Reduced);
    let own = [Level::Namespace, Level::Reduced, Level::None];
    let fits = |level: &Level| *level <= strongest && *level >= policy.minimum;
    own.into_iter().filter(|level| fits(level) && skipped != Some(*level)).collect()
}

/// Returns the plan as executed at a level.
pub(super) fn at_level(plan: &Plan, level: Level) -> Result<Cow<'_, Plan>, SandboxError> {
    let plan =
        if level == Level::Namespace { Cow::Borrowed(plan) } else { plan.with_root_only_views() };
    check_enforceable(&plan, level)?;
    if level == Level::None && plan.has_rootfs() {
        return proot::plan_with_proot(&plan).map(Cow::Owned);
    }
    Ok(plan)
}

/// Returns whether a level can enforce the plan.
fn check_enforceable(plan: &Plan, level: Level) -> Result<(), SandboxError> {
    let what = if level == Level::Reduced && plan.has_rootfs() {
        "another system in place of the host's"
    } else if level < Level::Namespace && plan.net == Net::Proxy {
        "the list of hosts that may be reached"
    } else if level == Level::None && plan.views.iter().any(|view| view.how.conceals()) {
        "what may not be read"
    } else {
        return Ok(());
    };
    Err(SandboxError::CannotHold { level, what })
}

/// Checks that the program exists. External backends report a missing program like an error of the
/// program itself.
pub(super) fn check_paths_exist(plan: &Plan) -> Result<(), SandboxError> {
    let Action::Run { program, env, .. } = &plan.act else { return Ok(()) };
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value);
    let path = path.map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
    let found = find_program(program, Path::new(&plan.folder), path);
    found.map(drop).map_err(|error| match error {
        StartError::NotExecutable(program) => {
            SandboxError::NotRun { program, source: io::ErrorKind::PermissionDenied.into() }
        }
        _ => SandboxError::NoProgram(program.into()),
    })
}

/// Converts a fault to an error when no weaker level may be tried.
pub(super) fn error_of(fault: Fault, at: Level, policy: &Policy) -> SandboxError {
    let source = fault.error();
    match fault.of {
        FaultSource::Program if source.kind() == io::ErrorKind::NotFound => {
            SandboxError::NoProgram(PathBuf::from(fault.step))
        }
        FaultSource::Program => SandboxError::NotRun { program: fault.step.into(), source },
        FaultSource::Path => SandboxError::Path { path: fault.step.into(), source },
        FaultSource::Host if at == policy.minimum && at > Level::None => {
            SandboxError::BelowMinimum {
                minimum: policy.minimum,
                strongest: next_weaker(at),
                reason: format!("{}: {source}", fault.step),
            }
        }
        FaultSource::Host => SandboxError::Setup { step: fault.step, source },
    }
}

/// Returns the level to try if this one is not available.
pub(super) fn next_weaker(level: Level) -> Level {
    if level == Level::Namespace && raw_syscalls::landlock_interface().is_some() {
        Level::Reduced
    } else {
        Level::None
    }
}
