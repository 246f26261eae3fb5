//! One program to run in a sandbox, and how it ended.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::policy::Policy;
use crate::root::Root;
use crate::{Level, egress::Refused};

/// A program with its arguments and what it may touch. It sees the variables given here, `PATH`, `HOME`, `TMPDIR`, those that name the
/// proxy if there is one, and nothing else of our environment.
#[derive(Debug, Clone)]
pub struct Job {
    /// A name, which is looked for in the `PATH` of its variables, or a path.
    pub program: OsString,
    /// Its arguments, without the name of the program.
    pub args: Vec<OsString>,
    /// The folder that it starts in. Default: the first writable folder, else the first readable one, else `/`.
    pub folder: Option<PathBuf>,
    /// Variables; the last one of a name counts.
    pub env: Vec<(OsString, OsString)>,
    /// What it reads.
    pub stdin: Stdin,
    /// Whether it gets one end of a socket as descriptor 3, for a protocol of the caller's own.
    pub bridge: bool,
    /// What it may touch.
    pub policy: Policy,
    /// Another system than the host's, which then is `/` to it. The paths of the policy are those of the host, and are seen at the same
    /// place inside; `program`, `folder` and variables are those of the inside.
    pub root: Option<Root>,
}

/// Where a program reads from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stdin {
    /// Nowhere: it finds the end at once.
    #[default]
    Empty,
    /// From [`Process::stdin`](crate::Process::stdin).
    Piped,
}

impl Job {
    /// This program without arguments, within this policy.
    pub fn new(program: impl Into<OsString>, policy: Policy) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            folder: None,
            env: Vec::new(),
            stdin: Stdin::Empty,
            bridge: false,
            policy,
            root: None,
        }
    }

    /// The same with more arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The same with one more variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same in another system.
    #[must_use]
    pub fn root(mut self, root: Root) -> Self {
        self.root = Some(root);
        self
    }

    /// The same in this folder.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }
}

/// How a program ended that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its status.
    pub status: Status,
    /// Why it was stopped, if it did not end by itself.
    pub stopped: Option<Stop>,
    /// How it was kept apart.
    pub level: Level,
    /// Time on processors, all that it started included.
    pub cpu: Duration,
    /// Hosts that it asked for and did not reach, by rule, without repetition.
    pub refused: Vec<Refused>,
}

/// The status of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It ended with this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
}

impl Status {
    /// The exit code of a shell that ran it: 128 and the number for a signal.
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
pub enum Stop {
    /// The caller wanted it.
    Killed,
    /// Its time was over.
    Time,
    /// It used more time on processors than it may.
    Cpu,
    /// It used more memory than it may.
    Memory,
    /// It had more processes and threads than it may.
    Processes,
    /// It filled more of the disk than it may.
    Disk,
}

impl Stop {
    /// The reason as the end of a sentence: "it was stopped because …".
    #[must_use]
    pub fn because(self) -> &'static str {
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
