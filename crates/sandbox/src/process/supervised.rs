//! Runs a program under its own supervisor, the [sandbox's](crate::Local), without isolation.
//!
//! The supervisor adopts processes that detach from the program. It ends them with the program, or
//! when this process ends, even if it was killed.

use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::{BUSY_TRIES, BUSY_WAIT, Program, Report, StartError, find_program};
use crate::backend::{Backend as _, Process, drive_to_end};
use crate::{Job, Level, Local, Network, Policy, Resources, SandboxError, Stdin};

/// Whether this executable can act as supervisor.
static IS_HELPER: AtomicBool = AtomicBool::new(false);

/// Declares that the `main` of this executable serves the helper's role.
pub(crate) fn executable_is_helper() {
    IS_HELPER.store(true, Ordering::Relaxed);
}

/// Returns the backend that starts supervised programs; `None` if this executable is not a helper.
pub(super) fn backend() -> Option<&'static Local> {
    static LOCAL: OnceLock<Local> = OnceLock::new();
    let is_helper = IS_HELPER.load(Ordering::Relaxed);
    is_helper.then(|| LOCAL.get_or_init(|| Local::new().max_level(Level::None)))
}

/// Implements [`Program::run`].
pub(super) async fn run(
    local: &Local,
    program: Program,
    stop: impl Future<Output = ()>,
) -> Result<Report, StartError> {
    let begun = Instant::now();
    let process = start(local, &program).await?;
    let ended = drive_to_end(process, begun, &program.stdin, program.limits, stop).await;
    let failed = |error| StartError::Other(program.program.clone().into(), io::Error::other(error));
    ended.map(|(report, _)| report).map_err(failed)
}

async fn start(local: &Local, program: &Program) -> Result<Process, StartError> {
    let path = program.path();
    let file = find_program(&program.program, &program.folder, &path)?;
    let mut job = Job::new(&file, policy()).args(&program.args).folder(&program.folder);
    job.env.push(("PATH".into(), path));
    job.env.extend(program.env.iter().cloned());
    (job.stdin, job.scratch) = (Stdin::Piped, false);
    let mut tries = 1;
    loop {
        match local.start(&job).await {
            Err(SandboxError::NotRun { source, .. })
                if source.kind() == io::ErrorKind::ExecutableFileBusy && tries < BUSY_TRIES =>
            {
                tries += 1;
                tokio::time::sleep(BUSY_WAIT).await;
            }
            started => return started.map_err(|error| start_error(error, &file, program)),
        }
    }
}

/// Returns a policy without isolation and limits.
fn policy() -> Policy {
    Policy {
        writable: vec!["/".into()],
        network: Network::Full,
        resources: Resources {
            memory: None,
            processes: None,
            cpu: None,
            file_size: None,
            disk: None,
            wall: None,
        },
        minimum: Level::None,
        ..Policy::default()
    }
}

fn start_error(error: SandboxError, file: &Path, program: &Program) -> StartError {
    match error {
        SandboxError::NoProgram(_) => StartError::NoInterpreter(file.to_owned()),
        SandboxError::NotRun { source, .. } => StartError::from_io(source, file),
        SandboxError::Path { .. } | SandboxError::FolderNotVisible(_) => {
            StartError::NoFolder(program.folder.clone())
        }
        other => StartError::Other(file.to_owned(), io::Error::other(other)),
    }
}
