//! bubblewrap (`bwrap`) as the maker of the walls, where it is installed and ours cannot be built: on Ubuntu, for instance, its AppArmor
//! profile allows it what it does not allow us. Our helper looks after it as after a sandbox of its own: time, limits, the end.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use toolcrib_net::BoxFuture;

use super::command::kind;
use super::filter;
use super::local::Local;
use super::plan::{Act, FILTERS, How, Net, Plan};
use super::start::must_be_there;
use crate::backend::{self, Backend, Process};
use crate::job::Job;
use crate::policy::{Network, Policy};
use crate::process::{DEFAULT_PATH, look_up};
use crate::report::Probe;
use crate::{Level, SandboxError};

const NAME: &str = "bubblewrap";

/// How its program is had.
const REMEDY: &str = "install the package bubblewrap";

/// The sandbox of another program. It holds what namespaces and the filter hold; there is no Landlock in it, and no proxy.
#[derive(Debug, Default)]
pub struct Bubblewrap {
    local: Local,
}

impl Bubblewrap {
    /// With this executable as helper, as in [`Local::new`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With another executable as helper.
    pub fn with_helper(program: impl Into<PathBuf>) -> Self {
        Self { local: Local::with_helper(program) }
    }

    /// The program, if it is installed. One in a folder that the user may write to does not count.
    fn program() -> Option<PathBuf> {
        look_up(OsStr::new("bwrap"), Path::new("/"), OsStr::new(DEFAULT_PATH)).ok()
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
        let mut plan = Plan::of(job)?.spelled_out().into_owned();
        must_be_there(&plan)?;
        let walls = walls(&plan);
        let filters = kind(&plan, Level::Namespace);
        if let Act::Run { program, args, env, filters: passed, .. } = &mut plan.act {
            let count = filter::files(filters).map_err(SandboxError::Helper)?.len();
            let numbers = (FILTERS..).take(count).map(|number| number.to_string());
            let filtered = numbers.flat_map(|number| ["--add-seccomp-fd".to_owned(), number]);
            let mut line: Vec<OsString> = walls;
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
        plan.views.retain(|view| view.how == How::Write);
        self.local.bare(&plan, job, Level::Namespace).await
    }
}

/// Whether the loader of programs obeys a variable of this name: then it is for the program inside, and not for `bwrap`, which is outside and
/// would load what the program wrote.
fn is_for_the_loader(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"LD_") || name == "GLIBC_TUNABLES"
}

/// What to tell it about a plan.
fn walls(plan: &Plan) -> Vec<OsString> {
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
            How::Read => say(&[word("--ro-bind"), path, path]),
            How::Write => say(&[word("--bind"), path, path]),
            How::Hidden if view.path().is_dir() => {
                say(&[word("--perms"), word("0111"), word("--tmpfs"), path]);
            }
            How::Hidden => say(&[word("--ro-bind"), word("/dev/null"), path]),
        }
    }
    for view in plan.views.iter().filter(|view| view.how == How::Hidden && view.path().is_dir()) {
        say(&[word("--remount-ro"), &view.path]);
    }
    for (at, target) in &plan.links {
        // A link in a folder that is mounted is there already.
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

    fn keeps_hosts(&self, _: Level) -> bool {
        false
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        Box::pin(async move {
            let Some(program) = Self::program() else {
                return Probe::nothing(NAME, "bwrap", format!("not installed: {REMEDY}"));
            };
            let job = Job::new("true", Policy::default());
            backend::tried(self, "bwrap", &program, Level::Namespace, &job).await
        })
    }

    fn start<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<Process, SandboxError>> {
        Box::pin(self.begin(job))
    }
}
