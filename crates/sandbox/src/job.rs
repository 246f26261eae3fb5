//! Sandbox jobs: one program to run, and its result.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::policy::Policy;
use crate::rootfs::Rootfs;
use crate::{Level, egress::RefusedHost};

/// A program with its arguments and policy. Its environment has the variables given here, `PATH`,
/// `HOME`, `TMPDIR` and the proxy variables if there is a proxy; nothing else is inherited.
#[derive(Debug, Clone)]
pub struct Job {
    /// A name to look up in the `PATH` of the job's variables, or a path.
    pub program: OsString,
    /// Arguments, without the program's name.
    pub args: Vec<OsString>,
    /// Start folder. Default: the first writable folder, otherwise the first readable one,
    /// otherwise `/`.
    pub folder: Option<PathBuf>,
    /// Environment variables; the last one of a name applies.
    pub env: Vec<(OsString, OsString)>,
    /// Standard input.
    pub stdin: Stdin,
    /// Whether the program gets one end of a socket as descriptor 3, for a protocol of the caller.
    pub bridge: bool,
    /// Whether `HOME` and `TMPDIR` name a private folder for temporary files unless the variables
    /// name others. Only a program without isolation can do without it.
    pub scratch: bool,
    /// What the program may access.
    pub policy: Policy,
    /// Another root file system, which the program sees as `/`. The paths of the policy are host
    /// paths and appear at the same place inside; `program`, `folder` and variables refer to the
    /// inside.
    pub root: Option<Rootfs>,
}

/// Source of standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stdin {
    /// Empty: end of file at once.
    #[default]
    Empty,
    /// From [`Process::stdin`](crate::Process::stdin).
    Piped,
}

impl Job {
    /// Creates a job for this program without arguments, under this policy.
    pub fn new(program: impl Into<OsString>, policy: Policy) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            folder: None,
            env: Vec::new(),
            stdin: Stdin::Empty,
            bridge: false,
            scratch: true,
            policy,
            root: None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets the root file system.
    #[must_use]
    pub fn root(mut self, root: Rootfs) -> Self {
        self.root = Some(root);
        self
    }

    /// Sets the start folder.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }
}

/// The result of a started program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobResult {
    /// Exit status.
    pub status: Status,
    /// Why it was stopped, if it did not end by itself.
    pub stopped: Option<LimitHit>,
    /// Isolation level.
    pub level: Level,
    /// CPU time, including descendants.
    pub cpu: Duration,
    /// Denied hosts with their rules, without duplicates.
    pub refused: Vec<RefusedHost>,
}

/// The exit status of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Exited with this code.
    Exited(i32),
    /// Killed by this signal.
    Signalled(i32),
}

impl Status {
    /// Returns the exit code as a shell reports it: 128 plus the number for a signal.
    #[must_use]
    pub fn code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
        }
    }
}

/// Why a program was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LimitHit {
    /// The caller stopped it.
    Killed,
    /// Its wall-clock limit was reached.
    Time,
    /// Its CPU time limit was exceeded.
    Cpu,
    /// Its memory limit was exceeded.
    Memory,
    /// Its limit of processes and threads was exceeded.
    Processes,
    /// Its disk limit was exceeded.
    Disk,
}

impl LimitHit {
    /// Returns the reason as the end of a sentence: "it was stopped because …".
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Self::Killed => "the caller stopped it",
            Self::Time => "its time was over",
            Self::Cpu => "it used more processor time than it may",
            Self::Memory => "it used more memory than it may",
            Self::Processes => "it had more processes and threads than it may",
            Self::Disk => "it filled more of the disk than it may",
        }
    }
}
