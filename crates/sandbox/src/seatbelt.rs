//! macOS sandbox (Seatbelt): `sandbox-exec` with a profile generated from the policy.
//!
//! It compiles and its parts are tested on every system; it has not been tested on macOS itself
//! yet. It isolates paths and the network, so its level is `reduced`. Limits apply to single
//! processes, and a program that leaves its process group outlives the sandbox.

mod process_handle;
mod profile;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;
use toolcrib_net::BoxFuture;

use crate::backend::{self, Backend, Duplex, Process};
use crate::egress::{self, Egress, Proxy};
use crate::host_rules::HostRules;
use crate::job::{Job, Stdin};
use crate::policy::{Network, Policy, Resources};
use crate::probe_report::{Feature, Probe};
use crate::process::{DEFAULT_PATH, find_program};
use crate::{Level, SandboxError};
use process_handle::{Scratch, SeatbeltHandle};

const NAME: &str = "seatbelt";

/// The system program that applies a profile.
const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Shell script that sets the limits of single processes and executes the program. Its first two
/// arguments are the limits.
const PRELUDE: &str = "[ -z \"$1\" ] || ulimit -t \"$1\"; [ -z \"$2\" ] || ulimit -f \"$2\"; ulimit -c 0; shift 2; exec \"$@\"";
/// The same with a bridge, which arrives as standard input and is moved to its descriptor.
const WITH_BRIDGE: &str = "[ -z \"$1\" ] || ulimit -t \"$1\"; [ -z \"$2\" ] || ulimit -f \"$2\"; ulimit -c 0; shift 2; exec \"$@\" 3<&0 </dev/null";

/// Bytes per block of `ulimit -f`.
const BLOCK: u64 = 512;

/// The macOS sandbox.
#[derive(Debug)]
pub struct Seatbelt {
    program: PathBuf,
    strongest: Level,
    egress: Egress,
}

impl Default for Seatbelt {
    fn default() -> Self {
        Self::new()
    }
}

impl Seatbelt {
    /// Uses the system's `sandbox-exec`.
    #[must_use]
    pub fn new() -> Self {
        let program = PathBuf::from(PROGRAM);
        Self { program, strongest: Level::Reduced, egress: Egress::default() }
    }

    /// Does the same as [`new`](Self::new): this backend needs no helper.
    pub fn with_helper(_: impl Into<PathBuf>) -> Self {
        Self::new()
    }

    /// Limits the level; below `reduced` there is no isolation.
    #[must_use]
    pub fn max_level(mut self, level: Level) -> Self {
        self.strongest = level.min(Level::Reduced);
        self
    }

    /// Sets the resolver and address policy of the egress proxy.
    #[must_use]
    pub fn egress(mut self, egress: Egress) -> Self {
        self.egress = egress;
        self
    }

    fn begin(&self, job: &Job) -> Result<Process, SandboxError> {
        let policy = &job.policy;
        if job.root.is_some() {
            return Err(SandboxError::NotBy { backend: NAME, what: "run another system" });
        }
        if policy.minimum > self.strongest {
            let (minimum, strongest) = (policy.minimum, self.strongest);
            return Err(SandboxError::BelowMinimum { minimum, strongest, reason: String::new() });
        }
        if self.strongest == Level::None {
            check_enforceable(policy)?;
        }
        if job.bridge && job.stdin == Stdin::Piped {
            return Err(SandboxError::NotBy { backend: NAME, what: "pipe input beside a bridge" });
        }
        let scratch = Scratch::new().map_err(SandboxError::Helper)?;
        let (proxy, port) = match &policy.network {
            Network::Hosts(hosts) => {
                let (proxy, port) = self.proxy(hosts).map_err(SandboxError::Helper)?;
                (Some(proxy), Some(port))
            }
            _ => (None, None),
        };
        let mut command = self.command(job, scratch.path(), port)?;
        let mut bridge: Option<Box<dyn Duplex>> = None;
        if job.bridge {
            let (ours, theirs) = pair().map_err(SandboxError::Helper)?;
            command.stdin(Stdio::from(theirs));
            bridge = Some(Box::new(ours));
        } else if job.stdin == Stdin::Piped {
            command.stdin(Stdio::piped());
        } else {
            command.stdin(Stdio::null());
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(SandboxError::Helper)?;
        let none = || SandboxError::Helper(io::Error::other("a stream is missing"));
        let stdin = child.stdin.take().map(|stdin| Box::new(stdin) as _);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (stdout, stderr) = (stdout.ok_or_else(none)?, stderr.ok_or_else(none)?);
        let level = self.strongest;
        let hold = SeatbeltHandle::new(child, level, policy.resources.wall, scratch, proxy);
        Ok(Process {
            stdin,
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            bridge,
            level,
            handle: Box::new(hold),
        })
    }

    /// Starts a proxy for these hosts and returns its port.
    fn proxy(&self, hosts: &HostRules) -> io::Result<(Proxy, u16)> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        Ok((Proxy::open(listener, hosts, &self.egress)?, port))
    }

    /// Builds the complete command: profile, limits, program.
    fn command(
        &self,
        job: &Job,
        scratch: &Path,
        proxy: Option<u16>,
    ) -> Result<Command, SandboxError> {
        let env = variables(job, scratch, proxy);
        let folder = folder(job, scratch)?;
        let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value);
        let path = path.map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
        let program = find_program(&job.program, &folder, path)
            .map_err(|_| SandboxError::NoProgram(PathBuf::from(&job.program)))?;
        let mut command = match self.strongest {
            Level::None => Command::new("/bin/sh"),
            _ => {
                let profile = profile::profile(&job.policy, scratch, proxy)?;
                let mut command = Command::new(&self.program);
                command.arg("-p").arg(profile).arg("/bin/sh");
                command
            }
        };
        let [cpu, file] = amounts(&job.policy.resources);
        let prelude = if job.bridge { WITH_BRIDGE } else { PRELUDE };
        command.args(["-c", prelude, "sh", &cpu, &file]).arg(program).args(&job.args);
        command.env_clear().envs(env).current_dir(folder);
        Ok(command)
    }
}

/// Returns CPU time in seconds and file size in blocks, as text; empty without a limit.
fn amounts(resources: &Resources) -> [String; 2] {
    let file = resources.file_size.into_iter().chain(resources.disk).min();
    let words = |amount: Option<u64>| amount.map(|amount| amount.to_string()).unwrap_or_default();
    [
        words(resources.cpu.map(|time| time.as_secs() + 1)),
        words(file.map(|bytes| bytes.div_ceil(BLOCK))),
    ]
}

fn variables(job: &Job, scratch: &Path, proxy: Option<u16>) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = vec![("PATH".into(), DEFAULT_PATH.into())];
    env.extend(["HOME", "TMPDIR"].map(|name| (name.into(), scratch.into())));
    env.extend(proxy.into_iter().flat_map(egress::variables));
    env.extend(job.env.iter().cloned());
    env
}

/// Returns the start folder, which must be visible to the program.
fn folder(job: &Job, scratch: &Path) -> Result<PathBuf, SandboxError> {
    let policy = &job.policy;
    let mut seen = policy.writable.iter().chain(&policy.readable);
    let first = seen.clone().find(|path| path.is_dir());
    let folder = job.folder.as_deref().or(first.map(PathBuf::as_path)).unwrap_or(scratch);
    let real = folder
        .canonicalize()
        .map_err(|source| SandboxError::Path { path: folder.to_owned(), source })?;
    let is_in = |path: &PathBuf| path.canonicalize().is_ok_and(|path| real.starts_with(path));
    let is_seen = real == Path::new("/") || job.folder.is_none() || seen.any(is_in);
    if !is_seen || policy.denied.iter().any(is_in) {
        return Err(SandboxError::FolderNotVisible(real));
    }
    Ok(real)
}

fn pair() -> io::Result<(tokio::net::UnixStream, OwnedFd)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((tokio::net::UnixStream::from_std(ours)?, theirs.into()))
}

/// Rejects restrictions that cannot be enforced without isolation.
fn check_enforceable(policy: &Policy) -> Result<(), SandboxError> {
    let what = if matches!(policy.network, Network::Hosts(_)) {
        "the list of hosts that may be reached"
    } else if !policy.denied.is_empty() {
        "what may not be read"
    } else {
        return Ok(());
    };
    Err(SandboxError::CannotHold { level: Level::None, what })
}

/// Returns the limits that it can enforce.
fn limits() -> Vec<Feature> {
    let feature = |name, works, detail: &str| Feature { name, works, detail: detail.to_owned() };
    vec![
        feature("memory", false, "not to be had here"),
        feature("processes", false, "not to be had here"),
        feature("cpu", true, "of each process, not of all together"),
        feature("file size", true, "by the kernel"),
        feature("disk", false, "each file by itself"),
        feature("wall time", true, "SIGTERM, and SIGKILL half a second later"),
    ]
}

impl Backend for Seatbelt {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Returns whether hosts can be restricted: the profile allows no connection except to the
    /// proxy.
    fn enforces_hosts(&self, level: Level) -> bool {
        level > Level::None
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        Box::pin(async move {
            let mut job = Job::new("/bin/echo", Policy::default());
            job.folder = Some("/".into());
            let probe =
                backend::probe_run(self, NAME, Path::new(PROGRAM), Level::Reduced, &job).await;
            match probe.strongest {
                Level::None => probe,
                _ => Probe { limits: limits(), ..probe },
            }
        })
    }

    fn start<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<Process, SandboxError>> {
        Box::pin(async move { self.begin(job) })
    }
}

#[cfg(test)]
mod tests;
