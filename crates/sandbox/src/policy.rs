//! Sandbox policy: accessible paths, network and resource limits of a program.

use std::path::PathBuf;
use std::time::Duration;

use crate::Level;
use crate::host_rules::HostRules;

/// Default limits of memory, processes and disk.
pub const DEFAULT_MEMORY: u64 = 4 << 30;
/// See [`DEFAULT_MEMORY`].
pub const DEFAULT_PROCESSES: u32 = 1024;
/// See [`DEFAULT_MEMORY`].
pub const DEFAULT_DISK: u64 = 4 << 30;

/// System folders of Linux that every program may read. Symlinks among them stay symlinks.
pub const SYSTEM_FOLDERS: [&str; 10] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store"];

/// The access of a program. System folders are always readable; of nested paths the inner one
/// decides.
///
/// ```
/// use std::path::PathBuf;
///
/// use toolcrib_sandbox::{HostRules, Job, Level, Network, Policy, Resources};
///
/// let workspace = PathBuf::from("/srv/project");
/// let policy = Policy {
///     read_only: vec![workspace.join(".git/hooks")],
///     denied: vec![workspace.join(".env")],
///     writable: vec![workspace],
///     network: Network::Hosts(HostRules::parse(["packages.example:443"])?),
///     resources: Resources { memory: Some(1 << 30), ..Resources::default() },
///     // Where only weaker isolation is possible, nothing starts.
///     minimum: Level::Namespace,
///     ..Policy::default()
/// };
/// // What `toolcrib_sandbox::run` gets, with a backend such as `Local`.
/// let job = Job::new("cargo", policy).args(["test", "--offline"]);
/// assert_eq!(job.policy.minimum, Level::Namespace);
/// # Ok::<(), toolcrib_sandbox::HostRuleError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Readable files and folders, including their contents.
    pub readable: Vec<PathBuf>,
    /// Writable files and folders, including their contents.
    pub writable: Vec<PathBuf>,
    /// Read-only paths inside writable folders. A missing path is not created. A path that leads
    /// out of them through a symlink is ignored, because a program with write access could
    /// otherwise use a link to open other paths.
    pub read_only: Vec<PathBuf>,
    /// Files and folders that can neither be read nor changed, wherever they are. A missing path is
    /// not created, and not monitored either.
    pub denied: Vec<PathBuf>,
    /// Files and folders that appear empty and cannot be changed, wherever they are. Unlike
    /// [`denied`](Self::denied) paths they cause no error, so that a program that visits the files
    /// around them runs as if these had no content. A level or backend that cannot show a path as
    /// empty treats it as denied. A missing path is ignored.
    pub masked: Vec<PathBuf>,
    /// Network access.
    pub network: Network,
    /// Resource limits.
    pub resources: Resources,
    /// The weakest acceptable level. If the host cannot provide it, nothing is started.
    pub minimum: Level,
}

impl Default for Policy {
    /// Allows the system folders, no network, default limits, and at least [`Level::Reduced`].
    fn default() -> Self {
        Self {
            readable: Vec::new(),
            writable: Vec::new(),
            read_only: Vec::new(),
            denied: Vec::new(),
            masked: Vec::new(),
            network: Network::None,
            resources: Resources::default(),
            minimum: Level::Reduced,
        }
    }
}

/// Network access.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Network {
    /// None except loopback.
    #[default]
    None,
    /// These hosts, through a proxy that checks every address like the HTTP tools do (`HTTPS_PROXY`
    /// and similar variables announce it).
    Hosts(HostRules),
    /// Everything that the machine reaches.
    Full,
}

/// Resource limits of a program together with its descendants; `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// Bytes of memory, including temporary files.
    pub memory: Option<u64>,
    /// Concurrent processes and threads.
    pub processes: Option<u32>,
    /// CPU time.
    pub cpu: Option<Duration>,
    /// Bytes of one file.
    pub file_size: Option<u64>,
    /// Bytes by which disk usage may grow, including temporary files.
    pub disk: Option<u64>,
    /// Wall-clock time.
    pub wall: Option<Duration>,
}

impl Default for Resources {
    /// Limits memory, processes and disk to [`DEFAULT_MEMORY`], [`DEFAULT_PROCESSES`] and
    /// [`DEFAULT_DISK`], without a time limit.
    fn default() -> Self {
        Self {
            memory: Some(DEFAULT_MEMORY),
            processes: Some(DEFAULT_PROCESSES),
            cpu: None,
            file_size: None,
            disk: Some(DEFAULT_DISK),
            wall: None,
        }
    }
}
