//! How built-in tools run programs: in the sandbox, within what the owner's settings let programs touch, and nowhere else.
//!
//! A [`Workbench`] is made of a [`Backend`] and [`Confines`]. [`Workbench::run`] runs a [`Program`] to its end, [`Workbench::start`] starts one that
//! lives longer than a call (a shell, a language server, a kernel).
//!
//! Invariants
//! - No program runs below the level that the owner asks for: such a call is refused, and says what to do. Only commands of the shell may
//!   run without any, where the owner says `shell.target = "native"`.
//! - Toolcrib's own state and configuration are out of reach of every program; what a workspace brings along for us, and what git would
//!   run later outside of the sandbox, can be read and not changed.
//! - Nothing of a program outlives its call, or the [`Process`] that holds it.

mod confines;
mod finished;
mod program;
mod refusal;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use tokio::sync::OnceCell;
use toolcrib_core::{CallCtx, ToolError};
use toolcrib_sandbox::process::Limits;
use toolcrib_sandbox::{
    Backend, HostRules, Job, Level, Network, Policy, Process, Root, SandboxError, Status, Stdin,
};

pub use confines::{Confines, make_own};
pub use finished::Finished;
pub(crate) use finished::unreached;
use program::On;
pub use program::{Needs, Program, Room};
pub use refusal::refusal;

/// Runs the programs of built-in tools.
pub struct Workbench {
    backend: Arc<dyn Backend>,
    /// What runs programs without any wall, if there is such a thing here.
    native: Option<Arc<dyn Backend>>,
    confines: RwLock<Arc<Confines>>,
    /// What this host gives, tried once.
    level: OnceCell<Level>,
}

impl std::fmt::Debug for Workbench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workbench")
            .field("backend", &self.backend.name())
            .field("confines", &self.confines())
            .finish_non_exhaustive()
    }
}

impl Workbench {
    /// Programs run by this backend, within these confines.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>, confines: Confines) -> Self {
        let confines = RwLock::new(Arc::new(confines));
        Self { backend, native: None, confines, level: OnceCell::new() }
    }

    /// The same with what runs [native](Program::native) programs; without it they are refused.
    #[must_use]
    pub fn with_native(mut self, native: Arc<dyn Backend>) -> Self {
        self.native = Some(native);
        self
    }

    /// What makes the sandboxes, for others that need some.
    #[must_use]
    pub fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    /// What programs may touch now.
    #[must_use]
    pub fn confines(&self) -> Arc<Confines> {
        Arc::clone(&self.confines.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Other confines for every program that starts from now on. Those that run keep theirs.
    pub fn confine(&self, confines: Confines) {
        *self.confines.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(confines);
    }

    /// The level at which programs run here: the strongest that this host gives. Tried at the first question, by a program that does nothing.
    ///
    /// # Errors
    /// A refusal for the model where the host gives no level that will do, or nothing can be started at all.
    pub async fn level(&self) -> Result<Level, ToolError> {
        self.tried().await.map_err(|error| refusal(&error))
    }

    /// What a program with these needs may touch, at the level that this host gives.
    ///
    /// # Errors
    /// As [`Self::level`].
    pub async fn policy(&self, needs: &Needs) -> Result<Policy, ToolError> {
        self.allowed(needs).await.map_err(|error| refusal(&error))
    }

    /// Runs a program to its end, which comes at the latest when the time of the program or of the call is over, or the call is stopped. How
    /// it ended, by itself or not, is in the result.
    ///
    /// # Errors
    /// A refusal for the model: a missing program, a host below the level that the owner asks for, a folder that cannot be used. Nothing
    /// has run then.
    pub async fn run(&self, ctx: &CallCtx, program: Program) -> Result<Finished, ToolError> {
        let refuse = |error: SandboxError| refusal(&error);
        let job = self.job(&program).await.map_err(refuse)?;
        let left = ctx.deadline.saturating_duration_since(Instant::now());
        let limits = Limits {
            time: program.time.map_or(left, |time| time.min(left)),
            stdout: program.keep,
            stderr: program.keep,
        };
        let stdin = program.stdin.as_deref().unwrap_or_default();
        let stop = ctx.cancel.cancelled();
        let backend = self.backend_of(&program).map_err(refuse)?;
        let run = toolcrib_sandbox::run(backend, &job, stdin, limits, stop).await;
        let (report, ended) = run.map_err(refuse)?;
        Ok(Finished::new(report, ended))
    }

    /// Starts a program that lives until it ends or what is returned is dropped. It reads what is written to `stdin` of the result; the bytes,
    /// the time and the amount kept of `program` count for nothing.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn start(&self, program: &Program) -> Result<Process, ToolError> {
        let refuse = |error: SandboxError| refusal(&error);
        let mut job = self.job(program).await.map_err(refuse)?;
        job.stdin = Stdin::Piped;
        let backend = self.backend_of(program).map_err(refuse)?;
        backend.start(&job).await.map_err(refuse)
    }

    fn backend_of(&self, program: &Program) -> Result<&dyn Backend, SandboxError> {
        match program.on {
            On::Host => self.native.as_deref().ok_or(SandboxError::Unsupported),
            On::Sandbox | On::Userland => Ok(&*self.backend),
        }
    }

    async fn job(&self, program: &Program) -> Result<Job, SandboxError> {
        let confines = self.confines();
        let mut policy = match program.on {
            On::Host => unwalled(&confines),
            On::Sandbox | On::Userland => self.allowed(&program.needs).await?,
        };
        let root = match program.on {
            On::Userland => Some(userland(&confines, &mut policy)?),
            On::Host | On::Sandbox => None,
        };
        let usual = confines.folder().filter(|_| program.needs.workspace > Room::Hidden);
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

    async fn allowed(&self, needs: &Needs) -> Result<Policy, SandboxError> {
        let level = self.tried().await?;
        let mut policy = self.confines().policy(needs, level);
        if !self.backend.keeps_hosts(level) && matches!(policy.network, Network::Hosts(_)) {
            // Single hosts cannot be told apart here; what is left is less, never more.
            policy.network = Network::None;
        }
        Ok(policy)
    }

    async fn tried(&self) -> Result<Level, SandboxError> {
        let confines = self.confines();
        confines.prepare();
        let level = self.level.get_or_try_init(|| async {
            let mut nothing =
                Job::new("true", Policy { minimum: Level::Reduced, ..Policy::default() });
            nothing.folder = Some("/".into());
            let never = std::future::pending();
            let run =
                toolcrib_sandbox::run(&*self.backend, &nothing, b"", Limits::default(), never);
            let (report, ended) = run.await?;
            // Another maker of walls that could not make them says so as a program does.
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

/// The system of the userland, whose mirrors are reached where single hosts are.
fn userland(confines: &Confines, policy: &mut Policy) -> Result<Root, SandboxError> {
    let none = || SandboxError::NoUserland("the Linux userland has no place".to_owned());
    let userland = confines.userland.as_ref().ok_or_else(none)?;
    let root = userland.root().map_err(|error| SandboxError::NoUserland(error.to_string()))?;
    if let (Network::Hosts(hosts), Network::Hosts(_)) = (&policy.network, &confines.network) {
        policy.network = Network::Hosts(hosts.clone().and(userland.hosts()));
    }
    Ok(root)
}

/// What holds a program on the host itself: amounts alone.
fn unwalled(confines: &Confines) -> Policy {
    Policy {
        writable: vec!["/".into()],
        network: Network::Full,
        resources: confines.resources,
        minimum: Level::None,
        ..Policy::default()
    }
}

/// No host at all, which the proxy says of each one that is asked for.
fn no_hosts() -> Network {
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
            let confines = Confines {
                userland: Some(Userland::new(path, path.join("home"))),
                network: own,
                ..Confines::default()
            };
            let mut policy = Policy { network: needed, ..Policy::default() };
            userland(&confines, &mut policy).unwrap();
            assert_eq!(policy.network, expected);
        };
        let mirrors = ["mirror.example:443", "other.example:8080"];
        check(hosts(&[]), hosts(&[]), hosts(&mirrors));
        let all = ["own.example", "mirror.example:443", "other.example:8080"];
        check(hosts(&["own.example"]), hosts(&["own.example"]), hosts(&all));
        // Not where the owner allows no host at all, nor for a program that needs none.
        check(Network::None, no_hosts(), no_hosts());
        check(hosts(&[]), Network::None, Network::None);
        check(Network::Full, Network::Full, Network::Full);
    }
}
