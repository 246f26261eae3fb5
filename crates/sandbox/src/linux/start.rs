//! What a start says about itself, put into the words of the crate; and the order in which levels are tried.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::control::{Blame, Event, Fault};
use super::plan::{Act, How, Net, Plan};
use super::proot;
use super::sys;
use crate::policy::Policy;
use crate::process::{DEFAULT_PATH, StartError, look_up};
use crate::{Level, SandboxError};

/// What is known of a sandbox so far.
#[derive(Default)]
pub(super) struct Begun {
    /// For its first process.
    pub(super) pidfd: Option<OwnedFd>,
    /// Where the proxy is asked.
    pub(super) listener: Option<TcpListener>,
}

impl Begun {
    /// Takes in what the sandbox says; `Some` = it runs, or it does not.
    pub(super) fn hear(&mut self, event: Event, fds: Vec<OwnedFd>) -> Option<Result<(), Fault>> {
        match event {
            Event::Forked => self.pidfd = fds.into_iter().next(),
            Event::Listening => self.listener = fds.into_iter().next().map(TcpListener::from),
            Event::Started | Event::Swept { .. } | Event::Ended { .. } => return Some(Ok(())),
            Event::Failed(fault) => return Some(Err(fault)),
        }
        None
    }
}

/// A start that came to nothing without a word.
pub(super) fn silent() -> Fault {
    Fault { of: Blame::Host, step: "starting".to_owned(), errno: 0 }
}

/// The levels to try for a policy, strongest first. Where nothing needs to be kept apart, another system is had without namespaces too, and not in
/// between.
pub(super) fn levels(strongest: Level, policy: &Policy, plan: &Plan) -> Vec<Level> {
    let skipped =
        (plan.has_other_root() && policy.minimum == Level::None).then_some(Level::Reduced);
    let own = [Level::Namespace, Level::Reduced, Level::None];
    let fits = |level: &Level| *level <= strongest && *level >= policy.minimum;
    own.into_iter().filter(|level| fits(level) && skipped != Some(*level)).collect()
}

/// What is done of a plan at a level.
pub(super) fn at_level(plan: &Plan, level: Level) -> Result<Cow<'_, Plan>, SandboxError> {
    let plan = if level == Level::Namespace { Cow::Borrowed(plan) } else { plan.spelled_out() };
    can_hold(&plan, level)?;
    if level == Level::None && plan.has_other_root() {
        return proot::instead(&plan).map(Cow::Owned);
    }
    Ok(plan)
}

/// Whether a level can keep what a plan wants kept at all.
fn can_hold(plan: &Plan, level: Level) -> Result<(), SandboxError> {
    let what = if level == Level::Reduced && plan.has_other_root() {
        "another system in place of the host's"
    } else if level < Level::Namespace && plan.net == Net::Proxy {
        "the list of hosts that may be reached"
    } else if level == Level::None && plan.views.iter().any(|view| view.how == How::Hidden) {
        "what may not be read"
    } else {
        return Ok(());
    };
    Err(SandboxError::CannotHold { level, what })
}

/// Refuses a program that is not there, for makers of walls whose own words about it would look like those of the program.
pub(super) fn must_be_there(plan: &Plan) -> Result<(), SandboxError> {
    let Act::Run { program, env, .. } = &plan.act else { return Ok(()) };
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value);
    let path = path.map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
    let found = look_up(program, Path::new(&plan.folder), path);
    found.map(drop).map_err(|error| match error {
        StartError::NotExecutable(program) => {
            SandboxError::NotRun { program, source: io::ErrorKind::PermissionDenied.into() }
        }
        _ => SandboxError::NoProgram(program.into()),
    })
}

/// What a fault means when no weaker level may be tried.
pub(super) fn error_of(fault: Fault, at: Level, policy: &Policy) -> SandboxError {
    let source = fault.error();
    match fault.of {
        Blame::Program if source.kind() == io::ErrorKind::NotFound => {
            SandboxError::NoProgram(PathBuf::from(fault.step))
        }
        Blame::Program => SandboxError::NotRun { program: fault.step.into(), source },
        Blame::Path => SandboxError::Path { path: fault.step.into(), source },
        Blame::Host if at == policy.minimum && at > Level::None => SandboxError::BelowMinimum {
            minimum: policy.minimum,
            strongest: below(at),
            reason: format!("{}: {source}", fault.step),
        },
        Blame::Host => SandboxError::Setup { step: fault.step, source },
    }
}

/// What is left where this level cannot be had.
pub(super) fn below(level: Level) -> Level {
    if level == Level::Namespace && sys::landlock_interface().is_some() {
        Level::Reduced
    } else {
        Level::None
    }
}
