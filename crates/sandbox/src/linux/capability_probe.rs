//! Capability probe: creates a sandbox of each level, in which a process attempts everything that
//! the sandbox should prevent.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;

use super::cgroup;
use super::control_socket::Fault;
use super::local_backend::{self, Local};
use super::plan::{Action, Plan};
use super::self_test::{CHECKS, ProbeTargets};
use crate::Level;
use crate::policy::Policy;
use crate::probe_report::{Case, Feature, Probe};

/// How to make user namespaces available.
const HELP: &str = "in a container allow user namespaces (for Docker a seccomp profile with clone, unshare, mount and pivot_root, and \
    systempaths=unconfined); on Ubuntu allow them with an AppArmor profile or kernel.apparmor_restrict_unprivileged_userns=0";

/// The Landlock ABI with signal and abstract socket scopes, the newest feature used here.
const SCOPES: i64 = 6;

pub(super) async fn probe(local: &Local) -> Probe {
    let outside = match ProbeTarget::new() {
        Ok(outside) => outside,
        Err(error) => {
            return Probe::unavailable(
                local_backend::NAME,
                "probe",
                format!("cannot run the tests: {error}"),
            );
        }
    };
    let plan = Plan::action(Action::Try(outside.seen.clone()), &Policy::default(), None);
    let Ok(plan) = plan else {
        return Probe::unavailable(
            local_backend::NAME,
            "probe",
            "the folders of the system cannot be read",
        );
    };
    let most = local.limit();
    let at = async |level: Level| {
        if level > most {
            return Err("switched off".to_owned());
        }
        let said = local.attempt(&plan, level).await.map_err(|fault| sentence(&fault));
        let held: Result<Vec<String>, String> =
            said.and_then(|said| serde_json::from_slice(&said).map_err(|error| error.to_string()));
        held
    };
    let (namespace, reduced) = (at(Level::Namespace).await, at(Level::Reduced).await);
    let strongest = match (&namespace, &reduced) {
        (Ok(_), _) => Level::Namespace,
        (_, Ok(_)) => Level::Reduced,
        _ => Level::None,
    };
    let cases =
        cases(&[(Level::Namespace, namespace.as_ref()), (Level::Reduced, reduced.as_ref())]);
    let features = features(&namespace, &reduced);
    Probe { backend: local_backend::NAME, strongest, features, cases, limits: limits(strongest) }
}

fn sentence(fault: &Fault) -> String {
    format!("{}: {}", fault.step, fault.error())
}

fn cases(tried: &[(Level, Result<&Vec<String>, &String>)]) -> Vec<Case> {
    let of = |(name, what, _): &(&'static str, &'static str, _)| {
        let mut case = Case { name, what, held_at: Vec::new(), open_at: Vec::new() };
        for (level, held) in tried {
            let Ok(held) = held else { continue };
            let list = if held.iter().any(|held| held == name) {
                &mut case.held_at
            } else {
                &mut case.open_at
            };
            list.push(*level);
        }
        case
    };
    CHECKS.iter().map(of).collect()
}

fn features(
    namespace: &Result<Vec<String>, String>,
    reduced: &Result<Vec<String>, String>,
) -> Vec<Feature> {
    let landlock = local_backend::landlock();
    let apart = Feature {
        name: "namespaces",
        works: namespace.is_ok(),
        detail: match namespace {
            Ok(_) => "user, pid, mount, network, ipc, uts and cgroup, with a separate root folder"
                .to_owned(),
            Err(why) => format!("{why}; {HELP}"),
        },
    };
    let rules = Feature {
        name: "landlock",
        works: landlock.is_some(),
        detail: match landlock {
            Some(version) if version >= SCOPES => format!("interface {version}"),
            Some(version) => format!(
                "interface {version}: signals and abstract sockets are confined from interface {SCOPES} on (Linux 6.12)"
            ),
            None => {
                "not supported by this kernel, or disabled (Linux 5.13, lsm=landlock,…)".to_owned()
            }
        },
    };
    let filter = Feature {
        name: "seccomp",
        works: namespace.is_ok() || reduced.is_ok(),
        detail: match (namespace, reduced) {
            (Err(_), Err(why)) => why.clone(),
            _ => "a separate filter for each kind of sandbox".to_owned(),
        },
    };
    let root = Feature {
        name: "plain user",
        works: !rustix::process::geteuid().is_root(),
        detail: if rustix::process::geteuid().is_root() {
            "root starts the sandboxes: they have none of root's rights, except for files of root that a policy lists".to_owned()
        } else {
            "an ordinary user starts the sandboxes".to_owned()
        },
    };
    let group = Feature {
        name: "cgroup",
        works: cgroup::parent().is_ok(),
        detail: match cgroup::parent() {
            Ok(place) => place.description(),
            Err(why) => why.clone(),
        },
    };
    vec![apart, rules, filter, root, group]
}

fn limits(strongest: Level) -> Vec<Feature> {
    let limit = |name, works, detail: &str| Feature { name, works, detail: detail.to_owned() };
    let any = strongest > Level::None;
    let apart = strongest == Level::Namespace;
    let by_group =
        |controller| cgroup::parent().as_ref().is_ok_and(|place| any && place.bounds(controller));
    let number = if by_group("pids") || apart {
        "checked every 10 ms; the kernel refuses more"
    } else {
        "checked every 10 ms"
    };
    let memory = if by_group("memory") {
        "of all processes together, temporary files included: enforced by the kernel"
    } else {
        "of all processes together, temporary files included: checked every 10 ms; one process cannot allocate more than twice the limit"
    };
    vec![
        limit("memory", any, memory),
        limit("processes", any, number),
        limit(
            "cpu",
            any,
            "of all processes together: checked every 10 ms; of one process: enforced by the kernel",
        ),
        limit("file size", any, "enforced by the kernel"),
        limit(
            "disk",
            any,
            "growth of the file systems of writable folders, and temporary files: checked every 10 ms",
        ),
        limit("wall time", any, "SIGTERM to all processes, and SIGKILL half a second later"),
    ]
}

/// Objects outside the sandbox during a probe.
struct ProbeTarget {
    seen: ProbeTargets,
    folder: PathBuf,
    _listeners: (TcpListener, UnixListener, UnixListener),
}

impl ProbeTarget {
    fn new() -> io::Result<Self> {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let name = format!("toolcrib-probe-{pid}-{:x}", now.map_or(0, |now| now.as_nanos()));
        let folder = std::env::temp_dir().canonicalize()?.join(&name);
        fs::create_dir(&folder)?;
        let made = || -> io::Result<(TcpListener, UnixListener, UnixListener)> {
            fs::write(folder.join("secret"), "secret")?;
            Ok((
                TcpListener::bind("127.0.0.1:0")?,
                UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?,
                UnixListener::bind(folder.join("socket"))?,
            ))
        };
        let listeners = made().inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
        let port = listeners.0.local_addr()?.port();
        let seen = ProbeTargets { folder: folder.clone().into(), pid, name, port };
        Ok(Self { seen, folder, _listeners: listeners })
    }
}

impl Drop for ProbeTarget {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
