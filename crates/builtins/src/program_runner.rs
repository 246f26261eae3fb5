//! Program runner: runs the programs of built-in tools in the sandbox, within the owner's settings.
//!
//! A [`ProgramRunner`] consists of a [`Backend`] and a [`ProgramPolicy`]. [`ProgramRunner::run`]
//! runs a [`Program`] to its end, [`ProgramRunner::start`] starts one that outlives a call (a
//! shell, a language server, a kernel).
//!
//! Invariants
//! - No program runs below the sandbox level that the owner requires: such a call is refused with
//!   instructions. Only shell commands may run without a sandbox, if the owner sets `shell.target =
//!   "native"`.
//! - A program in the sandbox cannot see paths that rules deny to its caller, and cannot change
//!   paths that rules protect ([`PathMasks`]). A tool that starts a program without a sandbox asks
//!   for approval first.
//! - No program can access Toolcrib's own state and configuration. Settings in a workspace, and
//!   files that git would execute later outside of the sandbox, are read-only.
//! - When a program ends, the files that it left for git to execute outside of the sandbox are
//!   renamed.
//! - The undo journal contains the changes that a program made in the workspace by the end of its
//!   call.
//! - No process of a program outlives its call, or the [`Process`] that owns it.

mod path_masks;
mod program;
mod program_output;
mod program_policy;
mod program_watch;
mod start_error;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use tokio::sync::OnceCell;
use toolcrib_core::{CallCtx, NoPathDenials, PathDenials, ToolError};
use toolcrib_sandbox::process::Limits;
use toolcrib_sandbox::{
    Backend, HostRules, Job, Killer, Level, Network, Policy, Process, Rootfs, SandboxError, Status,
    Stdin,
};

use crate::fs::Workspace;

pub use path_masks::PathMasks;
use program::BackendChoice;
pub use program::{Needs, Program, WorkspaceAccess};
pub use program_output::ProgramOutput;
pub(crate) use program_output::blocked_hosts_note;
pub use program_policy::{ProgramPolicy, create_protected_dirs};
pub use program_watch::ProgramWatch;
use program_watch::WritableFolders;
pub use start_error::start_error;

/// Runs the programs of built-in tools.
pub struct ProgramRunner {
    backend: Arc<dyn Backend>,
    /// Backend for programs without a sandbox, if the host allows them.
    native: Option<Arc<dyn Backend>>,
    confines: RwLock<Arc<ProgramPolicy>>,
    /// The workspace whose changes are recorded.
    workspace: Option<Workspace>,
    /// The paths that rules deny to programs that serve several callers.
    shared_denials: RwLock<Arc<dyn PathDenials>>,
    /// The level that this host supports, probed once.
    level: OnceCell<Level>,
    /// Programs that outlive their calls; the next start removes those that have ended.
    started: Mutex<Vec<Killer>>,
}

impl std::fmt::Debug for ProgramRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workbench")
            .field("backend", &self.backend.name())
            .field("confines", &self.program_policy())
            .finish_non_exhaustive()
    }
}

impl ProgramRunner {
    /// Creates a runner with this backend and policy.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>, confines: ProgramPolicy) -> Self {
        let confines = RwLock::new(Arc::new(confines));
        let shared_denials = RwLock::new(NoPathDenials::shared());
        let started = Mutex::default();
        let (native, workspace, level) = (None, None, OnceCell::new());
        Self { backend, native, confines, workspace, shared_denials, level, started }
    }

    /// Records changes that programs make in this workspace in its undo journal; without a
    /// workspace, changes are not recorded.
    #[must_use]
    pub fn with_workspace(mut self, workspace: Workspace) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// Sets the backend for [native](Program::native) programs; without it they are refused.
    #[must_use]
    pub fn with_native(mut self, native: Arc<dyn Backend>) -> Self {
        self.native = Some(native);
        self
    }

    /// Returns the sandbox backend.
    #[must_use]
    pub fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    /// Returns the current policy.
    #[must_use]
    pub fn program_policy(&self) -> Arc<ProgramPolicy> {
        Arc::clone(&self.confines.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the policy for programs that start from now on; running ones keep theirs.
    pub fn set_program_policy(&self, confines: ProgramPolicy) {
        *self.confines.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(confines);
    }

    /// Returns the paths that rules deny to programs that serve several callers, such as an MCP
    /// server.
    #[must_use]
    pub fn shared_denials(&self) -> Arc<dyn PathDenials> {
        Arc::clone(&self.shared_denials.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces [`Self::shared_denials`] for programs that start from now on.
    pub fn set_shared_denials(&self, denials: Arc<dyn PathDenials>) {
        *self.shared_denials.write().unwrap_or_else(PoisonError::into_inner) = denials;
    }

    /// Resolves the paths that a program must not see or change under these denials, in the current
    /// state of the file system.
    ///
    /// # Errors
    /// `policy_denied` if the paths cannot be found within the limits of a start.
    pub async fn path_masks(&self, denials: &Arc<dyn PathDenials>) -> Result<PathMasks, ToolError> {
        PathMasks::resolve(denials, self.program_policy()).await
    }

    /// Returns the sandbox level of programs: the strongest that this host supports. The first call
    /// probes it by running `true`.
    ///
    /// # Errors
    /// A refusal for the model if the host supports no sufficient level, or cannot start any
    /// program.
    pub async fn level(&self) -> Result<Level, ToolError> {
        self.probe_level().await.map_err(|error| start_error(&error))
    }

    /// Returns the sandbox policy of a program with these needs, at the level of this host.
    ///
    /// # Errors
    /// As [`Self::level`].
    pub async fn sandbox_policy(&self, needs: &Needs) -> Result<Policy, ToolError> {
        self.checked_policy(needs).await.map_err(|error| start_error(&error))
    }

    /// Runs a program until it ends, its time limit or that of the call passes, or the call is
    /// cancelled. The result says which.
    ///
    /// # Errors
    /// A refusal for the model: a missing program, a host below the required level, a folder that
    /// cannot be used. Nothing has run then.
    pub async fn run(&self, ctx: &CallCtx, program: Program) -> Result<ProgramOutput, ToolError> {
        let refuse = |error: SandboxError| start_error(&error);
        let masks = self.path_masks(&ctx.path_denials).await?;
        let masks = if program.filters_reads { masks.only_read_only() } else { masks };
        let job = self.job(&program, &masks).await.map_err(refuse)?;
        let left = ctx.deadline.saturating_duration_since(Instant::now());
        let limits = Limits {
            time: program.time.map_or(left, |time| time.min(left)),
            stdout: program.keep,
            stderr: program.keep,
        };
        let stdin = program.stdin.as_deref().unwrap_or_default();
        let stop = ctx.cancel.cancelled();
        let backend = self.backend_of(&program).map_err(refuse)?;
        let mut watch = self.watch(&program, &job).await;
        watch.begin_call(ctx).await;
        let run = toolcrib_sandbox::run(backend, &job, stdin, limits, stop).await;
        let (report, ended) = run.map_err(refuse)?;
        let name = program.display_name();
        Ok(ProgramOutput::new(report, ended, watch.end(ctx, &name).await))
    }

    /// Starts watching the workspace for a program that starts now.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) async fn watch_program(
        &self,
        program: &Program,
        masks: &PathMasks,
    ) -> Result<ProgramWatch, ToolError> {
        let job = self.job(program, masks).await.map_err(|error| start_error(&error))?;
        Ok(self.watch(program, &job).await)
    }

    /// Starts watching the workspace for a call that a running program serves; `None` if the
    /// program cannot change the workspace, or the watch cannot start.
    pub async fn watch_call(
        &self,
        program: &Program,
        masks: &PathMasks,
        ctx: &CallCtx,
    ) -> Option<ProgramWatch> {
        if program.needs.workspace != WorkspaceAccess::Write {
            return None;
        }
        let mut watch = self.watch_program(program, masks).await.ok()?;
        watch.begin_call(ctx).await;
        Some(watch)
    }

    async fn watch(&self, program: &Program, job: &Job) -> ProgramWatch {
        if program.needs.workspace != WorkspaceAccess::Write {
            return ProgramWatch::unwatched();
        }
        let confines = self.program_policy();
        let writable = (program.on != BackendChoice::Host).then(|| WritableFolders {
            folders: confines.roots.iter().chain(&confines.writable).cloned().collect(),
            read_only: job.policy.read_only.clone(),
        });
        let workspace = self.workspace.clone().filter(|_| !program.has_own_history);
        ProgramWatch::begin(writable, workspace).await
    }

    /// Starts a program that lives until it ends or the result is dropped. It reads its input from
    /// the result's `stdin`; the fields `stdin`, `time` and `keep` of `program` are ignored.
    /// `masks` are those of its caller, or of all callers if it serves several.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn start(&self, program: &Program, masks: &PathMasks) -> Result<Process, ToolError> {
        let refuse = |error: SandboxError| start_error(&error);
        let mut job = self.job(program, masks).await.map_err(refuse)?;
        job.stdin = Stdin::Piped;
        let backend = self.backend_of(program).map_err(refuse)?;
        let process = backend.start(&job).await.map_err(refuse)?;
        let mut started = self.started();
        started.retain(|one| !one.has_ended());
        started.extend(process.killer());
        drop(started);
        Ok(process)
    }

    /// Kills every program that outlives its call, with all its descendants: shells, background
    /// processes, servers. Programs that end with a call are killed when the call is dropped.
    pub fn kill_started(&self) {
        for one in self.started().drain(..) {
            one.kill();
        }
    }

    fn started(&self) -> MutexGuard<'_, Vec<Killer>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn backend_of(&self, program: &Program) -> Result<&dyn Backend, SandboxError> {
        match program.on {
            BackendChoice::Host => self.native.as_deref().ok_or(SandboxError::Unsupported),
            BackendChoice::Sandbox | BackendChoice::Userland => Ok(&*self.backend),
        }
    }

    async fn job(&self, program: &Program, masks: &PathMasks) -> Result<Job, SandboxError> {
        let confines = self.program_policy();
        let mut policy = match program.on {
            BackendChoice::Host => unsandboxed_policy(&confines),
            BackendChoice::Sandbox | BackendChoice::Userland => {
                let mut policy = self.checked_policy(&program.needs).await?;
                masks.apply(&mut policy);
                policy
            }
        };
        let root = match program.on {
            BackendChoice::Userland => Some(userland(&confines, &mut policy)?),
            BackendChoice::Host | BackendChoice::Sandbox => None,
        };
        let usual = confines.folder().filter(|_| program.needs.workspace > WorkspaceAccess::Hidden);
        let folder = match (&program.folder, usual) {
            (Some(folder), Some(usual)) => Some(usual.join(folder)),
            (folder, usual) => folder.clone().or(usual.map(PathBuf::from)),
        };
        Ok(Job {
            folder,
            env: confines
                .variables(&program.needs, program.on)
                .chain(program.env.iter().cloned())
                .collect(),
            root,
            stdin: if program.stdin.is_some() { Stdin::Piped } else { Stdin::Empty },
            bridge: program.bridge,
            ..Job::new(&program.name, policy).args(&program.args)
        })
    }

    async fn checked_policy(&self, needs: &Needs) -> Result<Policy, SandboxError> {
        let level = self.probe_level().await?;
        let mut policy = self.program_policy().policy(needs, level);
        if !self.backend.enforces_hosts(level) && matches!(policy.network, Network::Hosts(_)) {
            // This backend cannot filter by host, so the network is off: restrictions may only get
            // stricter.
            policy.network = Network::None;
        }
        Ok(policy)
    }

    async fn probe_level(&self) -> Result<Level, SandboxError> {
        let confines = self.program_policy();
        confines.prepare();
        let level = self.level.get_or_try_init(|| async {
            let mut nothing =
                Job::new("true", Policy { minimum: Level::Reduced, ..Policy::default() });
            nothing.folder = Some("/".into());
            let never = std::future::pending();
            let run =
                toolcrib_sandbox::run(&*self.backend, &nothing, b"", Limits::default(), never);
            let (report, ended) = run.await?;
            // An external backend that fails to set up a sandbox reports that by its exit status.
            if ended.status != Status::Exited(0) {
                let source = std::io::Error::other(report.stderr.last(300));
                return Err(SandboxError::Setup { step: self.backend.name().to_owned(), source });
            }
            Ok(ended.level)
        });
        let level = *level.await?;
        if level < confines.minimum {
            let (minimum, strongest) = (confines.minimum, level);
            return Err(SandboxError::BelowMinimum { minimum, strongest, reason: String::new() });
        }
        Ok(level)
    }
}

/// Returns the userland's root filesystem. Its package mirrors are added where the policy allows
/// individual hosts.
fn userland(confines: &ProgramPolicy, policy: &mut Policy) -> Result<Rootfs, SandboxError> {
    let none = || SandboxError::NoUserland("the Linux userland has no place".to_owned());
    let userland = confines.userland.as_ref().ok_or_else(none)?;
    let root = userland.root().map_err(|error| SandboxError::NoUserland(error.to_string()))?;
    if let (Network::Hosts(hosts), Network::Hosts(_)) = (&policy.network, &confines.network) {
        policy.network = Network::Hosts(hosts.clone().and(userland.hosts()));
    }
    Ok(root)
}

/// Returns the policy of a program without a sandbox: resource limits only.
fn unsandboxed_policy(confines: &ProgramPolicy) -> Policy {
    Policy {
        writable: vec!["/".into()],
        network: Network::Full,
        resources: confines.resources,
        minimum: Level::None,
        ..Policy::default()
    }
}

/// Returns an empty list of hosts: the proxy then reports each refused host.
fn no_network() -> Network {
    Network::Hosts(HostRules::default())
}

#[cfg(test)]
mod tests {
    use toolcrib_sandbox::userland::Userland;

    use super::*;

    #[test]
    fn the_mirrors_of_the_userland_are_reached_where_single_hosts_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        for name in ["root/bin", "root/etc", "root/lib"] {
            std::fs::create_dir_all(path.join(name)).unwrap();
        }
        std::fs::write(path.join("root/bin/sh"), "").unwrap();
        let state = r#"{"state":"ready","name":"Alpine Linux","version":"3.24.2","sha256":"","signed_by":null,"branch":"v3.24","mirror":"","mirrors":["https://mirror.example/alpine","http://other.example:8080"],"repositories":null}"#;
        std::fs::write(path.join("state.json"), state).unwrap();
        let hosts = |names: &[&str]| Network::Hosts(HostRules::parse(names).unwrap());
        let check = |own: Network, needed: Network, expected: Network| {
            let confines = ProgramPolicy {
                userland: Some(Userland::new(path, path.join("home"))),
                network: own,
                ..ProgramPolicy::default()
            };
            let mut policy = Policy { network: needed, ..Policy::default() };
            userland(&confines, &mut policy).unwrap();
            assert_eq!(policy.network, expected);
        };
        let mirrors = ["mirror.example:443", "other.example:8080"];
        check(hosts(&[]), hosts(&[]), hosts(&mirrors));
        let all = ["own.example", "mirror.example:443", "other.example:8080"];
        check(hosts(&["own.example"]), hosts(&["own.example"]), hosts(&all));
        // Mirrors are not added if the owner allows no host, nor for a program that needs no
        // network.
        check(Network::None, no_network(), no_network());
        check(hosts(&[]), Network::None, Network::None);
        check(Network::Full, Network::Full, Network::Full);
    }
}
