//! What programs may touch, as the owner's settings say it, and the policy of one program that comes of it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use toolcrib_sandbox::process::DEFAULT_PATH;
use toolcrib_sandbox::userland::{ShellTarget, State, Userland};
use toolcrib_sandbox::{HostRules, Level, Network, Policy, Resources};

use super::no_hosts;
use super::program::{Needs, On, Room};

/// What a workspace brings along for us: it is read by us, and is not for programs to change.
const OURS: &str = ".toolcrib";

/// What git runs, or takes for a command, when a person uses it later outside of the sandbox.
const RUN_LATER: [&str; 2] = [".git/hooks", ".git/config"];

/// Variables of ours that a program gets on the host itself: what makes it the person's, and nothing that may be a secret.
const THE_PERSONS: [&str; 4] = ["PATH", "HOME", "USER", "LOGNAME"];

/// What programs may touch. The folders of the system can always be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confines {
    /// The folders of the workspace, which programs may change; they start in the first.
    pub roots: Vec<PathBuf>,
    /// The home folder of programs, made when it is missing. Not the person's.
    pub home: Option<PathBuf>,
    /// More that may be read; what does not exist is left out.
    pub readable: Vec<PathBuf>,
    /// More that may be changed; what does not exist is left out.
    pub writable: Vec<PathBuf>,
    /// Folders with programs, before those of the system; they may be read.
    pub path: Vec<PathBuf>,
    /// Variables.
    pub env: Vec<(String, String)>,
    /// Folders of our own that no program may see. Where a program could make one that is missing, it is made first.
    pub own: Vec<PathBuf>,
    /// Folders that programs may read and not change although they lie in one that they may; made first when they are missing there.
    pub kept: Vec<PathBuf>,
    /// Other files and folders that no program may see.
    pub denied: Vec<PathBuf>,
    /// What programs that need the network may reach.
    pub network: Network,
    /// How much each program may use.
    pub resources: Resources,
    /// The Linux userland; `None` = there can be none.
    pub userland: Option<Userland>,
    /// Where the commands of the shell run. `None` = in the userland once it is ready, before that in a sandbox with the system of the
    /// host.
    pub shell: Option<ShellTarget>,
    /// The weakest level that will do; never less than [`Level::Reduced`], because nothing weaker keeps `denied`.
    pub minimum: Level,
}

impl Confines {
    /// These folders of a workspace, no home folder, no network, the usual amounts, [`Level::Reduced`] at least.
    pub fn new(roots: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let roots = roots.into_iter().map(Into::into).collect();
        Self { roots, minimum: Level::Reduced, ..Self::default() }
    }

    /// The folder that programs start in.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.roots.first().or(self.home.as_ref()).map(PathBuf::as_path)
    }

    /// Where the commands of the shell run, looked at just now.
    #[must_use]
    pub fn shell_target(&self) -> ShellTarget {
        let is_ready = |userland: &Userland| matches!(userland.status().state, State::Ready(_));
        self.shell.unwrap_or_else(|| match &self.userland {
            Some(userland) if is_ready(userland) => ShellTarget::Userland,
            _ => ShellTarget::HostSandbox,
        })
    }

    /// Whether a program that may use all of this can neither send anything away nor change anything but the workspace and its own home.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let network = match &self.network {
            Network::None => true,
            Network::Hosts(hosts) => *hosts == HostRules::default(),
            Network::Full => false,
        };
        network && self.writable.is_empty()
    }

    /// Makes what has to be there before a program starts. What cannot be made is said when the program does not start for it.
    pub(super) fn prepare(&self) {
        if let Some(home) = &self.home {
            let _ = std::fs::create_dir_all(home);
        }
        let writable = self.roots.iter().chain(&self.writable).chain(&self.home);
        for folders in [&self.own, &self.kept] {
            let _ = make_own(folders, writable.clone());
        }
    }

    /// The variables of a program with these needs. One that sees no home folder gets one of the sandbox.
    /// Another system has its own `PATH` and home; on the host itself they are the person's.
    pub(super) fn variables(
        &self,
        needs: &Needs,
        on: On,
    ) -> impl Iterator<Item = (OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> =
            vec![("LANG".into(), "C.UTF-8".into()), ("TERM".into(), "dumb".into())];
        if on == On::Host {
            let named =
                THE_PERSONS.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
            all.extend(named);
        }
        if on == On::Sandbox {
            let folders = self.path.iter().map(|folder| folder.as_os_str().to_owned());
            let path: Vec<OsString> = folders.chain([DEFAULT_PATH.into()]).collect();
            all.push(("PATH".into(), path.join(":".as_ref())));
            let home = self.home.iter().filter(|_| needs.workspace > Room::Hidden);
            all.extend(home.map(|home| ("HOME".into(), home.clone().into_os_string())));
        }
        all.extend(self.env.iter().map(|(name, value)| (name.into(), value.into())));
        all.into_iter()
    }

    /// What a program with these needs may touch at a level.
    pub(super) fn policy(&self, needs: &Needs, level: Level) -> Policy {
        let there = |path: &&PathBuf| path.exists();
        let mut readable: Vec<PathBuf> = self.path.iter().filter(there).cloned().collect();
        let mut writable = Vec::new();
        if needs.workspace > Room::Hidden {
            readable.extend(self.readable.iter().filter(there).cloned());
            let more = self.writable.iter().filter(there);
            let rooms = if needs.workspace == Room::Write { &mut writable } else { &mut readable };
            rooms.extend(self.roots.iter().chain(&self.home).chain(more).cloned());
        }
        let mut kept: Vec<PathBuf> = writable.iter().flat_map(|root| kept(root, level)).collect();
        kept.extend(self.kept.iter().cloned());
        readable.extend(needs.readable.iter().cloned());
        writable.extend(needs.writable.iter().cloned());
        Policy {
            readable,
            writable,
            kept,
            denied: self.own.iter().chain(&self.denied).cloned().collect(),
            network: match (&self.network, needs.network) {
                (_, false) => Network::None,
                // So that what is asked for can be said.
                (Network::None, true) => no_hosts(),
                (Network::Hosts(hosts), true) => {
                    Network::Hosts(hosts.clone().and(needs.hosts.clone()))
                }
                (Network::Full, true) => Network::Full,
            },
            resources: needs.resources.unwrap_or(self.resources),
            minimum: self.minimum.max(Level::Reduced),
        }
    }
}

/// What of a writable folder may only be read.
fn kept(root: &Path, level: Level) -> Vec<PathBuf> {
    let mut kept = vec![root.join(OURS)];
    // Below, no new file could be made beside them, and git makes its locks there.
    if level >= Level::Namespace {
        kept.extend(RUN_LATER.map(|path| root.join(path)));
    }
    kept
}

/// Makes those folders of our own that are missing and that a program could make, because it may write around them: what is denied and
/// does not exist is not watched for. Those that cannot be made come back with the reason.
pub fn make_own<'a>(
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
