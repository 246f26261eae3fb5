//! gVisor (`runsc`) backend, if it is installed and selected: a separate kernel between the program
//! and the host.
//!
//! `runsc` gets an OCI bundle (runtime-spec 1.0) generated from the policy. The helper process
//! supervises it like a built-in sandbox: timeout, memory and end. The bundle is tested everywhere;
//! it has not been tested with a real `runsc` yet.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib_net::BoxFuture;

use super::local_backend::Local;
use super::mount_namespace::SCRATCH;
use super::plan::{Access, Action, Amounts, Net, PathView, Plan};
use super::start_result::check_paths_exist;
use crate::backend::{self, Backend, ControlOrder, Handle, KillChildrenResult, Process};
use crate::egress::RefusedHost;
use crate::job::{Job, JobResult};
use crate::policy::{Network, Policy};
use crate::probe_report::Probe;
use crate::process::{DEFAULT_PATH, find_program};
use crate::{Level, SandboxError};

const NAME: &str = "gvisor";

/// How to install it.
const REMEDY: &str = "install gVisor (gvisor.dev)";

/// User id inside: without capabilities, and owner of the policy's files.
const OWNER: u32 = 0;

/// Runs programs in gVisor.
#[derive(Debug, Default)]
pub struct Gvisor {
    local: Local,
    program: Option<PathBuf>,
}

impl Gvisor {
    /// Uses this executable as helper, as in [`Local::new`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses another executable as helper.
    pub fn with_helper(program: impl Into<PathBuf>) -> Self {
        Self { local: Local::with_helper(program), program: None }
    }

    /// Uses this `runsc` instead of the installed one.
    #[must_use]
    pub fn runsc(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    fn program(&self) -> Option<PathBuf> {
        let known = self.program.clone();
        known.or_else(|| {
            find_program(OsStr::new("runsc"), Path::new("/"), OsStr::new(DEFAULT_PATH)).ok()
        })
    }

    async fn begin(&self, job: &Job) -> Result<Process, SandboxError> {
        let runsc =
            self.program().ok_or(SandboxError::NoMaker { program: "runsc", remedy: REMEDY })?;
        let cannot = |what| Err(SandboxError::NotBy { backend: NAME, what });
        if matches!(job.policy.network, Network::Hosts(_)) {
            return cannot("keep a list of hosts");
        }
        if job.root.is_some() {
            return cannot("run another system");
        }
        if job.bridge {
            return cannot("pass a bridge");
        }
        let mut plan = Plan::from_job(job)?.with_root_only_views().into_owned();
        check_paths_exist(&plan)?;
        let bundle = Bundle::new(&plan).map_err(|source| SandboxError::Setup {
            step: "the bundle of gVisor".to_owned(),
            source,
        })?;
        let line = runsc_args(&bundle, plan.net);
        if let Action::Run { program, args, env, .. } = &mut plan.act {
            (*program, *args) = (runsc.into(), line);
            *env = vec![("PATH".into(), DEFAULT_PATH.into())];
        }
        plan.folder = "/".into();
        plan.views.clear();
        plan.links.clear();
        // gVisor stores all memory of the program in one file, so limits on files would limit
        // memory.
        plan.amounts = Amounts { file_size: None, disk: None, ..plan.amounts };
        let mut process = self.local.start_external(&plan, job, Level::External).await?;
        let inner = process.handle;
        process.handle = Box::new(GvisorHandle { inner, _bundle: bundle });
        Ok(process)
    }
}

/// Returns the arguments of `runsc` for a bundle.
fn runsc_args(bundle: &Bundle, net: Net) -> Vec<OsString> {
    let mut line: Vec<OsString> = Vec::new();
    if !rustix::process::geteuid().is_root() {
        line.push("--rootless".into());
    }
    let net = if net == Net::Host { "host" } else { "none" };
    line.push(format!("--network={net}").into());
    // The limit watch enforces limits; writes go only to the policy's paths.
    line.extend(["--ignore-cgroups", "--overlay2=none", "--host-uds=none"].map(OsString::from));
    line.extend(["--root".into(), bundle.path.join("state").into_os_string()]);
    line.extend(["run".into(), "--bundle".into(), bundle.path.clone().into_os_string()]);
    line.push(bundle.id().into());
    line
}

/// The bundle folder. Dropping it removes it.
struct Bundle {
    path: PathBuf,
}

impl Bundle {
    fn new(plan: &Plan) -> io::Result<Self> {
        let pid = rustix::process::getpid().as_raw_nonzero();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let name = format!("toolcrib-bundle-{pid}-{:x}", now.map_or(0, |now| now.as_nanos()));
        let path = std::env::temp_dir().canonicalize()?.join(name);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        let bundle = Self { path };
        let root = bundle.path.join("rootfs");
        for folder in [&root, &bundle.path.join("state")] {
            fs::create_dir(folder)?;
        }
        for path in ["/proc", "/dev", SCRATCH] {
            fs::create_dir(inside(&root, Path::new(path)))?;
        }
        for view in &plan.views {
            make(&root, view)?;
        }
        for (at, target) in &plan.links {
            let at = inside(&root, Path::new(at));
            // Links inside a mounted path already exist.
            if let Some(folder) = at.parent()
                && fs::create_dir_all(folder).is_ok()
            {
                let _ = std::os::unix::fs::symlink(target, at);
            }
        }
        fs::write(bundle.path.join("config.json"), serde_json::to_vec(&config(plan)?)?)?;
        Ok(bundle)
    }

    fn id(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Creates the mount point of a path that is inside no other view.
fn make(root: &Path, view: &PathView) -> io::Result<()> {
    let at = inside(root, view.path());
    if view.outside().is_dir() {
        return fs::create_dir_all(at);
    }
    if let Some(folder) = at.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(at, "")
}

/// Returns the runtime configuration (`config.json`).
fn config(plan: &Plan) -> io::Result<Value> {
    let Action::Run { program, args, env, .. } = &plan.act else {
        return Err(io::Error::other("there is no program"));
    };
    let args: Vec<&str> =
        std::iter::once(program).chain(args).map(|word| text(word)).collect::<io::Result<_>>()?;
    let own = ["HOME", "TMPDIR"].map(|name| (OsString::from(name), OsString::from(SCRATCH)));
    let given = |name: &OsStr| env.iter().any(|(other, _)| other == name);
    let own = own.iter().filter(|(name, _)| !given(name));
    let env: Vec<String> = own
        .chain(env)
        .map(|(name, value)| Ok(format!("{}={}", text(name)?, text(value)?)))
        .collect::<io::Result<_>>()?;
    let mut namespaces = vec!["pid", "ipc", "uts", "mount"];
    if plan.net != Net::Host {
        namespaces.push("network");
    }
    let namespaces: Vec<Value> = namespaces.iter().map(|kind| json!({"type": kind})).collect();
    let none: [&str; 0] = [];
    Ok(json!({
        "ociVersion": "1.0.2",
        "process": {
            "terminal": false,
            "user": {"uid": OWNER, "gid": OWNER},
            "args": args,
            "env": env,
            "cwd": text(&plan.folder)?,
            "noNewPrivileges": true,
            "capabilities": {
                "bounding": none, "effective": none, "permitted": none, "inheritable": none,
            },
            "rlimits": rlimits(&plan.amounts),
        },
        "root": {"path": "rootfs", "readonly": true},
        "hostname": "sandbox",
        "mounts": mounts(plan)?,
        "linux": {"namespaces": namespaces},
    }))
}

fn rlimits(amounts: &Amounts) -> Vec<Value> {
    let limit = |kind: &str, most: u64| json!({"type": kind, "soft": most, "hard": most});
    let mut limits = vec![limit("RLIMIT_CORE", 0)];
    limits.extend(amounts.file().map(|bytes| limit("RLIMIT_FSIZE", bytes)));
    limits.extend(amounts.cpu.map(|time| limit("RLIMIT_CPU", time.as_secs() + 1)));
    limits.extend(amounts.processes.map(|count| limit("RLIMIT_NPROC", u64::from(count))));
    limits
}

fn mounts(plan: &Plan) -> io::Result<Vec<Value>> {
    let size = format!("size={}", plan.amounts.scratch());
    let mut mounts = vec![
        json!({"destination": "/proc", "type": "proc", "source": "proc"}),
        json!({"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}),
        json!({"destination": SCRATCH, "type": "tmpfs", "source": "tmpfs",
            "options": ["nosuid", "nodev", "mode=1777", size]}),
    ];
    for view in &plan.views {
        let at = text(&view.path)?;
        let from = text(view.outside().as_os_str())?;
        let bind = |from: &str, how: &str| {
            json!({"destination": at, "type": "bind", "source": from,
                "options": ["rbind", how, "nosuid", "nodev"]})
        };
        mounts.push(match view.how {
            Access::Read => bind(from, "ro"),
            Access::Write => bind(from, "rw"),
            Access::Masked | Access::Hidden if view.path().is_dir() => {
                let mode = if view.how == Access::Masked { "mode=0555" } else { "mode=0111" };
                json!({"destination": at, "type": "tmpfs", "source": "tmpfs",
                    "options": ["ro", "nosuid", "nodev", mode, "size=0"]})
            }
            Access::Masked | Access::Hidden => bind("/dev/null", "ro"),
        });
    }
    Ok(mounts)
}

/// Converts a word to UTF-8 text for the configuration.
fn text(word: &OsStr) -> io::Result<&str> {
    word.to_str().ok_or_else(|| io::Error::other(format!("{word:?} is not text")))
}

/// Handle of a program, with its bundle.
struct GvisorHandle {
    inner: Box<dyn Handle>,
    _bundle: Bundle,
}

impl Handle for GvisorHandle {
    fn wait(&mut self) -> BoxFuture<'_, Result<JobResult, SandboxError>> {
        self.inner.wait()
    }

    /// Returns [`KillChildrenResult::Breeds`], so that the caller ends the whole program: processes
    /// inside gVisor are not processes of this machine.
    fn kill_children(&mut self) -> BoxFuture<'_, Result<KillChildrenResult, SandboxError>> {
        Box::pin(std::future::ready(Ok(KillChildrenResult::Breeds)))
    }

    fn refused(&self) -> Vec<RefusedHost> {
        self.inner.refused()
    }

    fn send_order(&self, order: ControlOrder) {
        self.inner.send_order(order);
    }
}

impl Backend for Gvisor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn enforces_hosts(&self, _: Level) -> bool {
        false
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        Box::pin(async move {
            let Some(program) = self.program() else {
                return Probe::unavailable(NAME, "runsc", format!("not installed: {REMEDY}"));
            };
            let job = Job::new("true", Policy::default());
            backend::probe_run(self, "runsc", &program, Level::External, &job).await
        })
    }

    fn start<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<Process, SandboxError>> {
        Box::pin(self.begin(job))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn plan(change: impl FnOnce(&mut Policy, &Path)) -> (tempfile::TempDir, Plan) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        for name in ["work/secret", "data"] {
            fs::create_dir_all(path.join(name)).unwrap();
        }
        fs::write(path.join("work/key"), "").unwrap();
        let mut policy = Policy { writable: vec![path.join("work")], ..Policy::default() };
        change(&mut policy, &path);
        let job = Job::new("make", policy).args(["test"]).env("A", "1");
        (folder, Plan::from_job(&job).unwrap())
    }

    #[test]
    fn the_bundle_says_what_the_policy_says() {
        let (folder, plan) = plan(|policy, path| {
            policy.readable = vec![path.join("data")];
            policy.denied = vec![path.join("work/secret"), path.join("work/key")];
            policy.resources.cpu = Some(Duration::from_secs(9));
            policy.resources.processes = Some(50);
        });
        let root = folder.path().canonicalize().unwrap();
        let config = config(&plan).unwrap();
        let process = &config["process"];
        assert_eq!(process["args"], json!(["make", "test"]));
        assert_eq!(process["cwd"], json!(root.join("work")));
        let env: Vec<&str> =
            process["env"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
        assert!(env.contains(&"A=1") && env.contains(&"HOME=/tmp"), "{env:?}");
        assert_eq!(
            (&process["noNewPrivileges"], &process["user"]["uid"]),
            (&json!(true), &json!(0))
        );
        assert_eq!(process["capabilities"]["bounding"], json!([]));
        let limits = process["rlimits"].as_array().unwrap();
        assert!(limits.contains(&json!({"type": "RLIMIT_CPU", "soft": 10, "hard": 10})));
        assert!(limits.contains(&json!({"type": "RLIMIT_NPROC", "soft": 50, "hard": 50})));
        let mount = |path: PathBuf| {
            let all = config["mounts"].as_array().unwrap();
            all.iter().find(|one| one["destination"] == json!(path)).cloned().unwrap_or_default()
        };
        let how = |path: &str| mount(root.join(path))["options"][1].clone();
        assert_eq!((how("work"), how("data")), (json!("rw"), json!("ro")));
        assert_eq!(mount("/usr".into())["options"][1], "ro");
        assert_eq!(mount(root.join("work/secret"))["type"], "tmpfs");
        assert_eq!(mount(root.join("work/key"))["source"], "/dev/null");
        // Inner mounts come after outer ones.
        let order: Vec<&Value> = config["mounts"].as_array().unwrap().iter().collect();
        let place =
            |path: &str| order.iter().position(|one| one["destination"] == json!(root.join(path)));
        assert!(place("work") < place("work/secret"));
        assert_eq!(config["root"]["readonly"], true);
        assert!(
            config["linux"]["namespaces"].as_array().unwrap().contains(&json!({"type": "network"}))
        );
    }

    #[test]
    fn the_folder_of_a_bundle_has_a_place_for_each_mount_and_goes_with_it() {
        let (folder, plan) = plan(|_, _| {});
        let bundle = Bundle::new(&plan).unwrap();
        let path = bundle.path.clone();
        let config: Value =
            serde_json::from_slice(&fs::read(path.join("config.json")).unwrap()).unwrap();
        for mount in config["mounts"].as_array().unwrap() {
            let at =
                inside(&path.join("rootfs"), Path::new(mount["destination"].as_str().unwrap()));
            assert!(at.exists(), "{at:?}");
        }
        let work = folder.path().canonicalize().unwrap().join("work");
        assert!(inside(&path.join("rootfs"), &work).is_dir());
        let line = runsc_args(&bundle, plan.net);
        assert!(line.contains(&"--network=none".into()), "{line:?}");
        assert_eq!(line.last(), Some(&OsString::from(bundle.id())));
        drop(bundle);
        assert!(!path.exists());
    }

    #[test]
    fn the_network_of_the_machine_is_had_only_where_the_policy_says_so() {
        let (_folder, plan) = plan(|policy, _| policy.network = Network::Full);
        let bundle = Bundle::new(&plan).unwrap();
        assert!(runsc_args(&bundle, plan.net).contains(&"--network=host".into()));
        let config = config(&plan).unwrap();
        assert!(!config["linux"]["namespaces"].to_string().contains("network"));
    }
}
