//! bubblewrap (`bwrap`) backend, for hosts where it is installed and the built-in sandbox is not
//! allowed.
//!
//! On Ubuntu, for example, AppArmor allows user namespaces to `bwrap` but not to other programs.
//! The helper process supervises `bwrap` like a built-in sandbox: timeout, limits and end.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use toolcrib_net::BoxFuture;

use super::exec::filter_options;
use super::local_backend::Local;
use super::plan::{Access, Action, FILTERS, Net, Plan};
use super::seccomp_filter;
use super::start_result::check_paths_exist;
use crate::backend::{self, Backend, Process};
use crate::job::Job;
use crate::policy::{Network, Policy};
use crate::probe_report::Probe;
use crate::process::{DEFAULT_PATH, find_program};
use crate::{Level, SandboxError};

const NAME: &str = "bubblewrap";

/// How to install it.
const REMEDY: &str = "install the package bubblewrap";

/// Runs programs in `bwrap`. It enforces namespaces and the seccomp filter; it has no Landlock and
/// no egress proxy.
#[derive(Debug, Default)]
pub struct Bubblewrap {
    local: Local,
}

impl Bubblewrap {
    /// Uses this executable as helper, as in [`Local::new`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses another executable as helper.
    pub fn with_helper(program: impl Into<PathBuf>) -> Self {
        Self { local: Local::with_helper(program) }
    }

    /// Finds the installed program. A program in a folder that the user can write to is ignored.
    fn program() -> Option<PathBuf> {
        find_program(OsStr::new("bwrap"), Path::new("/"), OsStr::new(DEFAULT_PATH)).ok()
    }

    async fn begin(&self, job: &Job) -> Result<Process, SandboxError> {
        if matches!(job.policy.network, Network::Hosts(_)) {
            return Err(SandboxError::NotBy { backend: NAME, what: "keep a list of hosts" });
        }
        if job.root.is_some() {
            return Err(SandboxError::NotBy { backend: NAME, what: "run another system" });
        }
        if job.policy.minimum > Level::Namespace {
            let (minimum, strongest) = (job.policy.minimum, Level::Namespace);
            return Err(SandboxError::BelowMinimum { minimum, strongest, reason: String::new() });
        }
        let bwrap =
            Self::program().ok_or(SandboxError::NoMaker { program: "bwrap", remedy: REMEDY })?;
        let mut plan = Plan::from_job(job)?.with_root_only_views().into_owned();
        check_paths_exist(&plan)?;
        let arguments = bwrap_args(&plan);
        let filters = filter_options(&plan, Level::Namespace);
        if let Action::Run { program, args, env, filters: passed, .. } = &mut plan.act {
            let count =
                seccomp_filter::encoded_programs(filters).map_err(SandboxError::Helper)?.len();
            let numbers = (FILTERS..).take(count).map(|number| number.to_string());
            let filtered = numbers.flat_map(|number| ["--add-seccomp-fd".to_owned(), number]);
            let mut line: Vec<OsString> = arguments;
            line.extend(filtered.map(OsString::from));
            env.extend(["HOME", "TMPDIR"].map(|name| (name.into(), "/tmp".into())));
            env.extend(job.env.iter().cloned());
            for (name, value) in env.extract_if(.., |(name, _)| is_for_the_loader(name)) {
                line.extend(["--setenv".into(), name, value]);
            }
            line.extend(["--".into(), std::mem::replace(program, bwrap.into())]);
            line.append(args);
            *args = line;
            *passed = Some(filters);
        }
        plan.folder = "/".into();
        plan.views.retain(|view| view.how == Access::Write);
        self.local.start_external(&plan, job, Level::Namespace).await
    }
}

/// Returns whether the dynamic loader interprets a variable of this name. Such variables are passed
/// only to the program inside: `bwrap` itself runs outside and would load files that the program
/// wrote.
fn is_for_the_loader(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"LD_") || name == "GLIBC_TUNABLES"
}

/// Returns the arguments of `bwrap` for a plan.
fn bwrap_args(plan: &Plan) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut say = |line: &[&OsStr]| words.extend(line.iter().map(OsString::from));
    let word = OsStr::new;
    for flag in ["--unshare-all", "--die-with-parent", "--new-session"] {
        say(&[word(flag)]);
    }
    say(&[word("--cap-drop"), word("ALL")]);
    if plan.net == Net::Host {
        say(&[word("--share-net")]);
    }
    if rustix::process::geteuid().is_root() {
        say(&[word("--uid"), word("1000"), word("--gid"), word("1000")]);
    }
    let size = plan.amounts.scratch().to_string();
    say(&[word("--dev"), word("/dev"), word("--size"), word(&size), word("--tmpfs"), word("/tmp")]);
    for view in &plan.views {
        let path = &view.path;
        match view.how {
            Access::Read => say(&[word("--ro-bind"), path, path]),
            Access::Write => say(&[word("--bind"), path, path]),
            Access::Masked | Access::Hidden if view.path().is_dir() => {
                let mode = if view.how == Access::Masked { "0555" } else { "0111" };
                say(&[word("--perms"), word(mode), word("--tmpfs"), path]);
            }
            // A bind mount of a device cannot be opened, which also conceals a masked file.
            Access::Masked | Access::Hidden => say(&[word("--ro-bind"), word("/dev/null"), path]),
        }
    }
    for view in plan.views.iter().filter(|view| view.how.conceals() && view.path().is_dir()) {
        say(&[word("--remount-ro"), &view.path]);
    }
    for (at, target) in &plan.links {
        // A link in a mounted folder already exists.
        if !plan.views.iter().any(|view| Path::new(at).starts_with(view.path())) {
            say(&[word("--symlink"), target, at]);
        }
    }
    say(&[word("--proc"), word("/proc"), word("--remount-ro"), word("/proc")]);
    say(&[word("--remount-ro"), word("/"), word("--chdir"), &plan.folder]);
    words
}

impl Backend for Bubblewrap {
    fn name(&self) -> &'static str {
        NAME
    }

    fn enforces_hosts(&self, _: Level) -> bool {
        false
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        Box::pin(async move {
            let Some(program) = Self::program() else {
                return Probe::unavailable(NAME, "bwrap", format!("not installed: {REMEDY}"));
            };
            let job = Job::new("true", Policy::default());
            backend::probe_run(self, "bwrap", &program, Level::Namespace, &job).await
        })
    }

    fn start<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<Process, SandboxError>> {
        Box::pin(self.begin(job))
    }
}
