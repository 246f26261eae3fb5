//! Sandbox plan: a policy compiled to resolved paths and numbers. The process with the job creates
//! it, and the helper executes it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::seccomp_filter::FilterOptions;
use super::{etc_idmap, rootfs_views};
use crate::egress;
use crate::job::Job;
use crate::policy::{Network, Policy, Resources, SYSTEM_FOLDERS};
use crate::process::DEFAULT_PATH;
use crate::rootfs::ROOTFS_HOME;
use crate::{Level, SandboxError};

/// First descriptor of the filters that are passed to an external backend.
pub(super) const FILTERS: i32 = 4;

/// Port of the proxy inside a network namespace, which has no other listeners.
pub(super) const PROXY_PORT: u16 = 3128;

/// How long the list of files that only root may read is cached.
const STALE: Duration = Duration::from_secs(30);

/// The plan of one job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The visible and hidden paths, outer paths before inner ones.
    pub(super) views: Vec<PathView>,
    /// Symlinks to create, with their targets.
    pub(super) links: Vec<(OsString, OsString)>,
    pub(super) net: Net,
    pub(super) amounts: Amounts,
    pub(super) folder: OsString,
    /// Whether private files of `/etc` are protected by [an ID-mapped mount](super::etc_idmap)
    /// instead of views.
    pub(super) idmapped_etc: bool,
    /// Whether the program has a private folder for temporary files.
    pub(super) scratch: bool,
    pub(super) act: Action,
}

/// How one path is visible, with everything below it that has no view of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PathView {
    pub(super) path: OsString,
    /// Its path on the host, if it differs.
    pub(super) from: Option<OsString>,
    pub(super) how: Access,
}

/// Access to the path of a [`PathView`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Access {
    Read,
    Write,
    /// An empty file or folder that can be opened.
    Masked,
    /// Neither readable nor writable.
    Hidden,
}

impl Access {
    /// Returns whether the content of the path stays out of reach.
    pub(super) fn conceals(self) -> bool {
        matches!(self, Self::Masked | Self::Hidden)
    }
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

/// The action inside the sandbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Action {
    /// Run this program.
    Run {
        program: OsString,
        args: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
        bridge: bool,
        /// Seccomp filters that the program gets as files, from descriptor [`FILTERS`] on, to apply
        /// to its own child: it is an [external backend](Plan::is_external_backend).
        filters: Option<FilterOptions>,
    },
    /// Run the self test and write its results to standard output.
    Try(crate::linux::self_test::ProbeTargets),
}

impl PathView {
    pub(super) fn path(&self) -> &Path {
        Path::new(&self.path)
    }

    /// Returns its path on the host.
    pub(super) fn outside(&self) -> &Path {
        self.from.as_deref().map_or_else(|| self.path(), Path::new)
    }
}

impl Plan {
    /// Compiles the plan of a job.
    pub(super) fn from_job(job: &Job) -> Result<Self, SandboxError> {
        let act = Action::Run {
            program: job.program.clone(),
            args: job.args.clone(),
            env: variables(job),
            bridge: job.bridge,
            filters: None,
        };
        let Some(root) = &job.root else {
            let plan = Self::action(act, &job.policy, job.folder.as_deref())?;
            return Ok(Self { scratch: job.scratch, ..plan });
        };
        let (views, folder) = rootfs_views::views(root, &job.policy, job.folder.as_deref())?;
        Ok(Self::with(views, Vec::new(), folder, &job.policy, act))
    }

    /// Returns whether its program is an external backend, which runs another program as process 2
    /// of a pid namespace.
    pub(super) fn is_external_backend(&self) -> bool {
        matches!(self.act, Action::Run { filters: Some(_), .. })
    }

    /// Returns whether the program gets another root file system.
    pub(super) fn has_rootfs(&self) -> bool {
        self.rootfs().is_some()
    }

    /// Returns the view of that root file system. No other view is ever `/`.
    pub(super) fn rootfs(&self) -> Option<&PathView> {
        self.views.first().filter(|view| view.path() == Path::new("/"))
    }

    pub(super) fn action(
        act: Action,
        policy: &Policy,
        folder: Option<&Path>,
    ) -> Result<Self, SandboxError> {
        let mut views = BTreeMap::new();
        let mut links = Vec::new();
        for folder in SYSTEM_FOLDERS.iter().map(Path::new) {
            match fs::symlink_metadata(folder) {
                Ok(meta) if meta.is_symlink() => {
                    let target = fs::read_link(folder).map_err(unusable(folder))?;
                    links.push((folder.into(), target.into_os_string()));
                }
                Ok(meta) if meta.is_dir() => drop(views.insert(folder.to_owned(), Access::Read)),
                _ => {}
            }
        }
        for (paths, how) in [(&policy.readable, Access::Read), (&policy.writable, Access::Write)] {
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
        for path in policy.read_only.iter().filter_map(|path| path.canonicalize().ok()) {
            // A symlink that leads out of a writable path grants nothing more.
            if outer(&views, &path) == Some(Access::Write) {
                views.entry(path).or_insert(Access::Read);
            }
        }
        let first = policy.writable.iter().chain(&policy.readable).find(|path| path.is_dir());
        let folder = folder.or(first.map(PathBuf::as_path)).unwrap_or(Path::new("/"));
        let folder = folder.canonicalize().map_err(unusable(folder))?;
        if folder != Path::new("/") && view_of(&views, &folder).is_none() {
            return Err(SandboxError::FolderNotVisible(folder));
        }
        // A masked path that the policy also shows exists inside, and is empty.
        let mut shown_empty = BTreeSet::new();
        for path in policy.masked.iter().filter_map(|path| path.canonicalize().ok()) {
            if views.insert(path.clone(), Access::Masked).is_some() {
                shown_empty.insert(path);
            }
        }
        for path in policy.denied.iter().filter_map(|path| path.canonicalize().ok()) {
            views.insert(path, Access::Hidden);
        }
        // A program without isolation that may change everything cannot be kept from reading
        // anything.
        let is_unwalled = policy.minimum == Level::None
            && policy.writable.iter().any(|path| path == Path::new("/"));
        let secret = Path::new(etc_idmap::FOLDER);
        // If a policy has views inside the folder, its files are examined one by one.
        let is_whole = views.get(secret) == Some(&Access::Read)
            && !views.keys().any(|path| path != secret && path.starts_with(secret));
        let idmapped_etc = is_whole && !is_unwalled && etc_idmap::is_supported();
        if !is_unwalled && !idmapped_etc {
            for path in root_only_files() {
                views.entry(path).or_insert(Access::Hidden);
            }
        }
        drop_needless(&mut views, &shown_empty);
        pin_parents(&mut views);
        if view_of(&views, &folder) == Some(Access::Hidden) {
            return Err(SandboxError::FolderNotVisible(folder));
        }
        // The map's order puts every path after the paths that contain it.
        let views = views
            .into_iter()
            .map(|(path, how)| PathView { path: path.into(), from: None, how })
            .collect();
        Ok(Self { idmapped_etc, ..Self::with(views, links, folder, policy, act) })
    }

    /// Returns the same plan with views that hide the files that only root may read, for backends
    /// without an ID-mapped mount.
    pub(super) fn with_root_only_views(&self) -> Cow<'_, Self> {
        if !self.idmapped_etc {
            return Cow::Borrowed(self);
        }
        let mut plan = Self { idmapped_etc: false, ..self.clone() };
        let hidden =
            |path: PathBuf| PathView { path: path.into(), from: None, how: Access::Hidden };
        plan.views.extend(root_only_files().into_iter().map(hidden));
        plan.views.sort_by(|one, other| one.path().cmp(other.path()));
        Cow::Owned(plan)
    }

    fn with(
        views: Vec<PathView>,
        links: Vec<(OsString, OsString)>,
        folder: PathBuf,
        policy: &Policy,
        act: Action,
    ) -> Self {
        let net = match policy.network {
            Network::None => Net::Nothing,
            Network::Hosts(_) => Net::Proxy,
            Network::Full => Net::Host,
        };
        let amounts = Amounts::from_resources(&policy.resources);
        Self {
            views,
            links,
            net,
            amounts,
            folder: folder.into(),
            idmapped_etc: false,
            scratch: true,
            act,
        }
    }
}

impl Amounts {
    fn from_resources(resources: &Resources) -> Self {
        let Resources { memory, processes, cpu, file_size, disk, wall } = *resources;
        Self { memory, processes, cpu, file_size, disk, wall }
    }

    /// Returns the maximum bytes of temporary files, which are in memory.
    pub(super) fn scratch(&self) -> u64 {
        let amount = self.disk.into_iter().chain(self.memory).min();
        amount.unwrap_or(crate::policy::DEFAULT_DISK)
    }

    /// Returns the maximum bytes of one file.
    pub(super) fn file(&self) -> Option<u64> {
        self.file_size.into_iter().chain(self.disk).min()
    }
}

/// Adds the entries of `/` one by one, because the sandbox has its own `/proc` and `/dev`.
fn everything(
    how: Access,
    views: &mut BTreeMap<PathBuf, Access>,
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

/// Returns the variables of a job, without those that depend on the folder of temporary files.
fn variables(job: &Job) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = vec![("PATH".into(), DEFAULT_PATH.into())];
    if job.root.as_ref().is_some_and(|root| root.home.is_some()) {
        env.push(("HOME".into(), ROOTFS_HOME.into()));
    }
    if matches!(job.policy.network, Network::Hosts(_)) {
        env.extend(egress::variables(PROXY_PORT));
    }
    env.extend(job.env.iter().cloned());
    env
}

/// Removes views of concealed paths that would not be visible anyway, and all views inside a masked
/// path, because a mask takes precedence over other entries of the policy inside it. Paths in
/// `shown_empty` remain.
fn drop_needless(views: &mut BTreeMap<PathBuf, Access>, shown_empty: &BTreeSet<PathBuf>) {
    let all = views.clone();
    let is_masked = |path: &Path| all.get(path) == Some(&Access::Masked);
    views.retain(|path, how| {
        let is_seen = outer(&all, path).is_some() || shown_empty.contains(path);
        !path.ancestors().skip(1).any(is_masked) && (!how.conceals() || is_seen)
    });
}

/// Returns the access to this path: the innermost view decides.
fn view_of(views: &BTreeMap<PathBuf, Access>, path: &Path) -> Option<Access> {
    path.ancestors().find_map(|path| views.get(path).copied())
}

/// Turns the folders between a writable folder and a more restricted path in it into separate
/// views. A mount point cannot be renamed; if a folder could be renamed, it would take the
/// restricted path along, and another folder could replace it.
fn pin_parents(views: &mut BTreeMap<PathBuf, Access>) {
    let mut ways = Vec::new();
    for path in views.iter().filter(|(_, how)| **how != Access::Write).map(|(path, _)| path) {
        let way = path.ancestors().skip(1).take_while(|above| !views.contains_key(*above));
        if outer(views, path) == Some(Access::Write) {
            ways.extend(way.map(Path::to_owned));
        }
    }
    views.extend(ways.into_iter().map(|folder| (folder, Access::Write)));
}

/// Returns the access of the view around this path.
fn outer(views: &BTreeMap<PathBuf, Access>, path: &Path) -> Option<Access> {
    path.parent().and_then(|parent| view_of(views, parent))
}

pub(super) fn unusable(path: &Path) -> impl FnOnce(io::Error) -> SandboxError {
    let path = path.to_owned();
    move |source| SandboxError::Path { path, source }
}

/// Returns the files of `/etc` that only root and special groups may read. Root owns them even
/// without capabilities, so a program that root starts could read them.
fn root_only_files() -> Vec<PathBuf> {
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
        // The directory entry already has the type; most entries are symlinks, and a stat for each
        // takes time.
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
