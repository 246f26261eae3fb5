//! Program policy: the access that the owner's settings allow to programs, and the sandbox policy
//! of one program derived from it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use toolcrib_sandbox::process::DEFAULT_PATH;
use toolcrib_sandbox::userland::{ShellTarget, State, Userland};
use toolcrib_sandbox::{HostRules, Level, Network, Policy, Resources};

use super::no_network;
use super::program::{BackendChoice, Needs, WorkspaceAccess};
use crate::executed_files::READ_ONLY;

/// Toolcrib's settings in a workspace; Toolcrib trusts them, so programs must not change them.
const STATE_FOLDER: &str = ".toolcrib";

/// Variables of our environment that a program on the host gets: they identify the user and contain
/// no secrets.
const HOST_VARIABLES: [&str; 4] = ["PATH", "HOME", "USER", "LOGNAME"];

/// What programs may access. System folders are always readable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgramPolicy {
    /// The workspace folders, which programs may change; they start in the first one.
    pub roots: Vec<PathBuf>,
    /// Home folder of programs, created if it is missing. Not the user's own.
    pub home: Option<PathBuf>,
    /// Additional readable paths; missing ones are skipped.
    pub readable: Vec<PathBuf>,
    /// Additional writable paths; missing ones are skipped.
    pub writable: Vec<PathBuf>,
    /// Folders searched for programs before the system's; they are readable.
    pub path: Vec<PathBuf>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// State folders of Toolcrib that no program may see. If a program could create a missing one,
    /// it is created first.
    pub state_folders: Vec<PathBuf>,
    /// Read-only folders inside writable ones; a missing one is created first.
    pub read_only: Vec<PathBuf>,
    /// Other files and folders that no program may see.
    pub denied: Vec<PathBuf>,
    /// Network of programs that need one.
    pub network: Network,
    /// Resource limits of each program.
    pub resources: Resources,
    /// The Linux userland; `None` if there cannot be one.
    pub userland: Option<Userland>,
    /// Where shell commands run. `None`: in the userland once it is ready, until then in a sandbox
    /// with the host's system.
    pub shell: Option<ShellTarget>,
    /// The weakest acceptable sandbox level. At least [`Level::Reduced`], because weaker ones do
    /// not enforce `denied`.
    pub minimum: Level,
}

impl ProgramPolicy {
    /// Creates a policy with defaults for these workspace folders: no home folder, no network,
    /// default limits, at least [`Level::Reduced`].
    pub fn new(roots: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let roots = roots.into_iter().map(Into::into).collect();
        Self { roots, minimum: Level::Reduced, ..Self::default() }
    }

    /// Returns the folder in which programs start.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.roots.first().or(self.home.as_ref()).map(PathBuf::as_path)
    }

    /// Returns where shell commands run now.
    #[must_use]
    pub fn shell_target(&self) -> ShellTarget {
        let is_ready = |userland: &Userland| matches!(userland.status().state, State::Ready(_));
        self.shell.unwrap_or_else(|| match &self.userland {
            Some(userland) if is_ready(userland) => ShellTarget::Userland,
            _ => ShellTarget::HostSandbox,
        })
    }

    /// Returns whether a program with full access under this policy can neither send data out nor
    /// change anything but the workspace and its own home.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let network = match &self.network {
            Network::None => true,
            Network::Hosts(hosts) => *hosts == HostRules::default(),
            Network::Full => false,
        };
        network && self.writable.is_empty()
    }

    /// Creates the folders that must exist before a program starts. Errors are ignored here: the
    /// start reports them.
    pub(super) fn prepare(&self) {
        if let Some(home) = &self.home {
            let _ = std::fs::create_dir_all(home);
        }
        let writable = self.roots.iter().chain(&self.writable).chain(&self.home);
        for folders in [&self.state_folders, &self.read_only] {
            let _ = create_protected_dirs(folders, writable.clone());
        }
    }

    /// Returns the environment variables of a program with these needs. Without access to the home
    /// folder it gets one inside the sandbox. The userland has its own `PATH` and home; on the host
    /// they are the user's.
    pub(super) fn variables(
        &self,
        needs: &Needs,
        on: BackendChoice,
    ) -> impl Iterator<Item = (OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> =
            vec![("LANG".into(), "C.UTF-8".into()), ("TERM".into(), "dumb".into())];
        if on == BackendChoice::Host {
            let named = HOST_VARIABLES
                .iter()
                .filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
            all.extend(named);
        }
        if on == BackendChoice::Sandbox {
            let folders = self.path.iter().map(|folder| folder.as_os_str().to_owned());
            let path: Vec<OsString> = folders.chain([DEFAULT_PATH.into()]).collect();
            all.push(("PATH".into(), path.join(":".as_ref())));
            let home = self.home.iter().filter(|_| needs.workspace > WorkspaceAccess::Hidden);
            all.extend(home.map(|home| ("HOME".into(), home.clone().into_os_string())));
        }
        all.extend(self.env.iter().map(|(name, value)| (name.into(), value.into())));
        all.into_iter()
    }

    /// Returns the sandbox policy of a program with these needs at a level.
    pub(super) fn policy(&self, needs: &Needs, level: Level) -> Policy {
        let there = |path: &&PathBuf| path.exists();
        let mut readable: Vec<PathBuf> = self.path.iter().filter(there).cloned().collect();
        let mut writable = Vec::new();
        if needs.workspace > WorkspaceAccess::Hidden {
            readable.extend(self.readable.iter().filter(there).cloned());
            let more = self.writable.iter().filter(there);
            let rooms = if needs.workspace == WorkspaceAccess::Write {
                &mut writable
            } else {
                &mut readable
            };
            rooms.extend(self.roots.iter().chain(&self.home).chain(more).cloned());
        }
        let mut kept: Vec<PathBuf> =
            writable.iter().flat_map(|root| read_only_paths(root, level)).collect();
        kept.extend(self.read_only.iter().cloned());
        readable.extend(needs.readable.iter().cloned());
        writable.extend(needs.writable.iter().cloned());
        Policy {
            readable,
            writable,
            read_only: kept,
            masked: needs.masked.clone(),
            denied: self.state_folders.iter().chain(&self.denied).cloned().collect(),
            network: self.network_of(needs),
            resources: needs.resources.unwrap_or(self.resources),
            minimum: self.minimum.max(Level::Reduced),
        }
    }
}

impl ProgramPolicy {
    /// Returns the network of a program with these needs.
    fn network_of(&self, needs: &Needs) -> Network {
        let own = needs.own_hosts.as_ref();
        match (&self.network, needs.network, own) {
            (Network::Full, true, _) => Network::Full,
            (Network::Hosts(hosts), true, own) => {
                let own = own.cloned().unwrap_or_default();
                Network::Hosts(hosts.clone().and(needs.hosts.clone()).and(own))
            }
            (_, _, Some(own)) => Network::Hosts(own.clone()),
            // An empty host list instead of no network, so that the proxy reports the requested
            // hosts.
            (Network::None, true, None) => no_network(),
            (_, false, None) => Network::None,
        }
    }
}

/// Returns the read-only paths in a writable folder.
fn read_only_paths(root: &Path, level: Level) -> Vec<PathBuf> {
    let mut kept = vec![root.join(STATE_FOLDER)];
    // Below the namespace level, a read-only `.git/config` would forbid new files beside it, where
    // git creates its lock files.
    if level >= Level::Namespace {
        kept.extend(READ_ONLY.map(|path| root.join(path)));
    }
    kept
}

/// Creates missing protected folders in places where a program may write: a denied path that does
/// not exist cannot be blocked. Returns those that could not be created, with the reason.
pub fn create_protected_dirs<'a>(
    own: &'a [PathBuf],
    writable: impl Iterator<Item = &'a PathBuf> + Clone,
) -> Vec<(&'a Path, io::Error)> {
    let inside = |folder: &&PathBuf| {
        let real = folder.ancestors().find_map(|path| path.canonicalize().ok());
        let within = |path: &PathBuf| {
            path.canonicalize()
                .is_ok_and(|path| real.as_ref().is_some_and(|real| real.starts_with(path)))
        };
        !folder.exists() && writable.clone().any(within)
    };
    let missing = own.iter().filter(inside);
    let made = missing.map(|folder| (folder.as_path(), std::fs::create_dir_all(folder)));
    made.filter_map(|(folder, made)| made.err().map(|error| (folder, error))).collect()
}
