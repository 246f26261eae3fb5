//! What a sandboxed program may touch, and how much of it.

use std::path::PathBuf;
use std::time::Duration;

use crate::Level;
use crate::hosts::HostRules;

/// Memory, processes and disk that a program gets unless its policy says otherwise.
pub const DEFAULT_MEMORY: u64 = 4 << 30;
/// See [`DEFAULT_MEMORY`].
pub const DEFAULT_PROCESSES: u32 = 1024;
/// See [`DEFAULT_MEMORY`].
pub const DEFAULT_DISK: u64 = 4 << 30;

/// What a program may touch. The folders of the system are there to be read, whatever else is named; of two paths that lie in one
/// another the inner one decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Files and folders that may be read, with all that is in them.
    pub readable: Vec<PathBuf>,
    /// Files and folders that may be read and changed, with all that is in them.
    pub writable: Vec<PathBuf>,
    /// What of the writable folders may only be read. One that does not exist is not made; one that leads out of them, by a link, is left
    /// out: whoever may write there must not open other places by it.
    pub kept: Vec<PathBuf>,
    /// Files and folders that may neither be read nor changed, wherever they lie. One that does not exist is not made, and is not
    /// watched for either.
    pub denied: Vec<PathBuf>,
    /// What it may reach over the network.
    pub network: Network,
    /// How much it may use.
    pub resources: Resources,
    /// The weakest level that will do. Where the host cannot give it, nothing is started.
    pub minimum: Level,
}

impl Default for Policy {
    /// The folders of the system, no network, the default amounts, [`Level::Reduced`] at least.
    fn default() -> Self {
        Self {
            readable: Vec::new(),
            writable: Vec::new(),
            kept: Vec::new(),
            denied: Vec::new(),
            network: Network::None,
            resources: Resources::default(),
            minimum: Level::Reduced,
        }
    }
}

/// What may be reached over the network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Network {
    /// Nothing but itself.
    #[default]
    None,
    /// These hosts, through a proxy that checks every address as the HTTP tools do (variables such as `HTTPS_PROXY` name it).
    Hosts(HostRules),
    /// Whatever the machine reaches.
    Full,
}

/// How much a program and all that it starts may use together; `None` = without a limit of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// Bytes of memory, temporary files included.
    pub memory: Option<u64>,
    /// Processes and threads at one time.
    pub processes: Option<u32>,
    /// Time on processors.
    pub cpu: Option<Duration>,
    /// Bytes of one file.
    pub file_size: Option<u64>,
    /// Bytes by which the disk may fill up, temporary files included.
    pub disk: Option<u64>,
    /// Time from start to end.
    pub wall: Option<Duration>,
}

impl Default for Resources {
    /// [`DEFAULT_MEMORY`], [`DEFAULT_PROCESSES`] and [`DEFAULT_DISK`]; time without a limit.
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
