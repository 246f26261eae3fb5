//! A policy as a list of what to do: paths looked up, amounts as numbers. It is made where the job comes from, and carried out in the
//! helper.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::filter::Kind;
use super::{other_root, stranger};
use crate::egress;
use crate::job::Job;
use crate::policy::{Network, Policy, Resources};
use crate::process::DEFAULT_PATH;
use crate::root::ROOT_HOME;
use crate::{Level, SandboxError};

/// Folders of the system that every program may read. Those that are links stay links.
const SYSTEM: [&str; 10] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store"];

/// The number of the first filter that is passed on as a file.
pub(super) const FILTERS: i32 = 4;

/// The port of the proxy inside a network namespace: nothing else is there that could want it.
pub(super) const PROXY_PORT: u16 = 3128;

/// How long the list of what only root may read is believed.
const STALE: Duration = Duration::from_secs(30);

/// What to do for one job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Plan {
    /// What can be seen and what cannot, outer paths before inner ones.
    pub(super) views: Vec<View>,
    /// Links to make, and what they say.
    pub(super) links: Vec<(OsString, OsString)>,
    pub(super) net: Net,
    pub(super) amounts: Amounts,
    pub(super) folder: OsString,
    /// Whether what of `/etc` only root may read is kept by [how it is mounted](stranger), and is in no view.
    pub(super) strange: bool,
    pub(super) act: Act,
}

/// How one path is seen, with all under it that has no view of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct View {
    pub(super) path: OsString,
    /// Where it is outside, if that is another path.
    pub(super) from: Option<OsString>,
    pub(super) how: How,
}

/// See [`View`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum How {
    Read,
    Write,
    Hidden,
}

/// The network of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Net {
    Nothing,
    Proxy,
    Host,
}

/// [`Resources`] as numbers.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Amounts {
    pub(super) memory: Option<u64>,
    pub(super) processes: Option<u32>,
    pub(super) cpu: Option<Duration>,
    pub(super) file_size: Option<u64>,
    pub(super) disk: Option<u64>,
    pub(super) wall: Option<Duration>,
}

/// What is done inside.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Act {
    /// This program is run.
    Run {
        program: OsString,
        args: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
        bridge: bool,
        /// Filters that it gets as files, from descriptor [`FILTERS`] on, to have the kernel apply them to others: it makes the
        /// [walls](Plan::is_of_walls) of another program.
        filters: Option<Kind>,
    },
    /// What is tried is written to standard output.
    Try(crate::linux::attempts::Outside),
}

impl View {
    pub(super) fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// Its path outside.
    pub(super) fn outside(&self) -> &Path {
        self.from.as_deref().map_or_else(|| self.path(), Path::new)
    }
}

impl Plan {
    /// The plan of a job.
    pub(super) fn of(job: &Job) -> Result<Self, SandboxError> {
        let act = Act::Run {
            program: job.program.clone(),
            args: job.args.clone(),
            env: variables(job),
            bridge: job.bridge,
            filters: None,
        };
        let Some(root) = &job.root else {
            return Self::to_do(act, &job.policy, job.folder.as_deref());
        };
        let (views, folder) = other_root::views(root, &job.policy, job.folder.as_deref())?;
        Ok(Self::with(views, Vec::new(), folder, &job.policy, act))
    }

    /// Whether its program makes walls and runs another one within them, as process 2 of a pid namespace.
    pub(super) fn is_of_walls(&self) -> bool {
        matches!(self.act, Act::Run { filters: Some(_), .. })
    }

    /// Whether the program gets another system than the host's.
    pub(super) fn has_other_root(&self) -> bool {
        self.other_root().is_some()
    }

    /// The view of that system. Nothing else is ever seen as `/`.
    pub(super) fn other_root(&self) -> Option<&View> {
        self.views.first().filter(|view| view.path() == Path::new("/"))
    }

    pub(super) fn to_do(
        act: Act,
        policy: &Policy,
        folder: Option<&Path>,
    ) -> Result<Self, SandboxError> {
        let mut views = BTreeMap::new();
        let mut links = Vec::new();
        for folder in SYSTEM.iter().map(Path::new) {
            match fs::symlink_metadata(folder) {
                Ok(meta) if meta.is_symlink() => {
                    let target = fs::read_link(folder).map_err(unusable(folder))?;
                    links.push((folder.into(), target.into_os_string()));
                }
                Ok(meta) if meta.is_dir() => drop(views.insert(folder.to_owned(), How::Read)),
                _ => {}
            }
        }
        for (paths, how) in [(&policy.readable, How::Read), (&policy.writable, How::Write)] {
            for path in paths {
                let real = path.canonicalize().map_err(unusable(path))?;
                if real.starts_with("/proc") {
                    return Err(unusable(path)(io::Error::other("it shows other processes")));
                }
                let named = std::path::absolute(path).map_err(unusable(path))?;
                if named != real {
                    links.push((named.into(), real.clone().into()));
                }
                if real == Path::new("/") {
                    everything(how, &mut views, &mut links).map_err(unusable(path))?;
                } else {
                    views.insert(real, how);
                }
            }
        }
        for path in policy.kept.iter().filter_map(|path| path.canonicalize().ok()) {
            // Where a link leads out of what may be written, nothing is opened.
            if outer(&views, &path) == Some(How::Write) {
                views.entry(path).or_insert(How::Read);
            }
        }
        let first = policy.writable.iter().chain(&policy.readable).find(|path| path.is_dir());
        let folder = folder.or(first.map(PathBuf::as_path)).unwrap_or(Path::new("/"));
        let folder = folder.canonicalize().map_err(unusable(folder))?;
        if folder != Path::new("/") && view_of(&views, &folder).is_none() {
            return Err(SandboxError::FolderNotVisible(folder));
        }
        for path in policy.denied.iter().filter_map(|path| path.canonicalize().ok()) {
            views.insert(path, How::Hidden);
        }
        // Whoever may change everything, without any wall, is kept from nothing.
        let is_unwalled = policy.minimum == Level::None
            && policy.writable.iter().any(|path| path == Path::new("/"));
        let secret = Path::new(stranger::FOLDER);
        // Where a policy says more of it, everything is looked at one by one.
        let is_whole = views.get(secret) == Some(&How::Read)
            && !views.keys().any(|path| path != secret && path.starts_with(secret));
        let strange = is_whole && !is_unwalled && stranger::works();
        if !is_unwalled && !strange {
            for path in secrets_of_the_system() {
                views.entry(path).or_insert(How::Hidden);
            }
        }
        // Hidden where nothing would be seen anyway.
        let all = views.clone();
        views.retain(|path, how| *how != How::Hidden || outer(&all, path).is_some());
        hold_ways(&mut views);
        if view_of(&views, &folder) == Some(How::Hidden) {
            return Err(SandboxError::FolderNotVisible(folder));
        }
        // In the order of the map every path comes after those that it lies in.
        let views = views
            .into_iter()
            .map(|(path, how)| View { path: path.into(), from: None, how })
            .collect();
        Ok(Self { strange, ..Self::with(views, links, folder, policy, act) })
    }

    /// The same with what only root may read in its views, for whoever does not mount.
    pub(super) fn spelled_out(&self) -> Cow<'_, Self> {
        if !self.strange {
            return Cow::Borrowed(self);
        }
        let mut plan = Self { strange: false, ..self.clone() };
        let hidden = |path: PathBuf| View { path: path.into(), from: None, how: How::Hidden };
        plan.views.extend(secrets_of_the_system().into_iter().map(hidden));
        plan.views.sort_by(|one, other| one.path().cmp(other.path()));
        Cow::Owned(plan)
    }

    fn with(
        views: Vec<View>,
        links: Vec<(OsString, OsString)>,
        folder: PathBuf,
        policy: &Policy,
        act: Act,
    ) -> Self {
        let net = match policy.network {
            Network::None => Net::Nothing,
            Network::Hosts(_) => Net::Proxy,
            Network::Full => Net::Host,
        };
        let amounts = Amounts::of(&policy.resources);
        Self { views, links, net, amounts, folder: folder.into(), strange: false, act }
    }
}

impl Amounts {
    fn of(resources: &Resources) -> Self {
        let Resources { memory, processes, cpu, file_size, disk, wall } = *resources;
        Self { memory, processes, cpu, file_size, disk, wall }
    }

    /// Bytes for temporary files, which live in memory.
    pub(super) fn scratch(&self) -> u64 {
        let amount = self.disk.into_iter().chain(self.memory).min();
        amount.unwrap_or(crate::policy::DEFAULT_DISK)
    }

    /// Bytes of one file.
    pub(super) fn file(&self) -> Option<u64> {
        self.file_size.into_iter().chain(self.disk).min()
    }
}

/// What lies in `/`, one by one: its `/proc` and `/dev` are the sandbox's own.
fn everything(
    how: How,
    views: &mut BTreeMap<PathBuf, How>,
    links: &mut Vec<(OsString, OsString)>,
) -> io::Result<()> {
    for entry in fs::read_dir("/")? {
        let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        if kind.is_symlink() {
            let link = (path.clone().into_os_string(), fs::read_link(&path)?.into_os_string());
            if !links.contains(&link) {
                links.push(link);
            }
        } else if (kind.is_dir() || kind.is_file())
            && !["/proc", "/dev"].map(Path::new).contains(&&*path)
        {
            views.entry(path).or_insert(how);
        }
    }
    Ok(())
}

/// The variables of a job, without those that depend on where temporary files are.
fn variables(job: &Job) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = vec![("PATH".into(), DEFAULT_PATH.into())];
    if job.root.as_ref().is_some_and(|root| root.home.is_some()) {
        env.push(("HOME".into(), ROOT_HOME.into()));
    }
    if matches!(job.policy.network, Network::Hosts(_)) {
        env.extend(egress::variables(PROXY_PORT));
    }
    env.extend(job.env.iter().cloned());
    env
}

/// How this path is seen: the innermost view decides.
fn view_of(views: &BTreeMap<PathBuf, How>, path: &Path) -> Option<How> {
    path.ancestors().find_map(|path| views.get(path).copied())
}

/// Makes the folders on the way from what may be written to something narrower in it views of their own: nothing that is one can be renamed,
/// and a folder that can takes what lies in it along, so that another could be put in its place.
fn hold_ways(views: &mut BTreeMap<PathBuf, How>) {
    let mut ways = Vec::new();
    for path in views.iter().filter(|(_, how)| **how != How::Write).map(|(path, _)| path) {
        let way = path.ancestors().skip(1).take_while(|above| !views.contains_key(*above));
        if outer(views, path) == Some(How::Write) {
            ways.extend(way.map(Path::to_owned));
        }
    }
    views.extend(ways.into_iter().map(|folder| (folder, How::Write)));
}

/// The view around this path.
fn outer(views: &BTreeMap<PathBuf, How>, path: &Path) -> Option<How> {
    path.parent().and_then(|parent| view_of(views, parent))
}

pub(super) fn unusable(path: &Path) -> impl FnOnce(io::Error) -> SandboxError {
    let path = path.to_owned();
    move |source| SandboxError::Path { path, source }
}

/// What of `/etc` only root and chosen groups may read. Root owns these files, also without any of its rights, so a program that root
/// starts could read them.
fn secrets_of_the_system() -> Vec<PathBuf> {
    static KNOWN: Mutex<Option<(Instant, Vec<PathBuf>)>> = Mutex::new(None);
    if !rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((at, paths)) = known.as_ref().filter(|(at, _)| at.elapsed() < STALE) {
        let _ = at;
        return paths.clone();
    }
    let mut paths = Vec::new();
    collect_private(Path::new("/etc"), &mut paths);
    *known = Some((Instant::now(), paths.clone()));
    paths
}

fn collect_private(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // The folder itself says what a link is: most of what is there, and each question takes its time.
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        let Ok(meta) = entry.metadata() else { continue };
        let for_all = if meta.is_dir() { 0o005 } else { 0o004 };
        if meta.permissions().mode() & for_all != for_all {
            paths.push(entry.path());
        } else if meta.is_dir() {
            collect_private(&entry.path(), paths);
        }
    }
}
