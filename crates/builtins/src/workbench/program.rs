//! A program that a tool wants to run, and what it needs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use toolcrib_sandbox::{HostRules, Resources};

/// Bytes kept of each stream, half at its beginning and half at its end, unless the tool says otherwise.
const KEEP: usize = 256 * 1024;

/// One program with its arguments. It sees the variables of the confines (`PATH`, `HOME`, `LANG`, what the owner configured), those given
/// here, and nothing else of our environment.
#[derive(Debug, Clone)]
pub struct Program {
    pub(super) name: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) folder: Option<PathBuf>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) needs: Needs,
    pub(super) time: Option<Duration>,
    pub(super) keep: usize,
    pub(super) bridge: bool,
    pub(super) on: On,
}

/// Which system a program runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum On {
    /// That of the host, in a sandbox.
    #[default]
    Sandbox,
    /// The Linux userland, in a sandbox.
    Userland,
    /// The host itself.
    Host,
}

/// What a program needs of what the owner allows. It never gets more than that, but for the paths that the tool itself names.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    /// The folders of the workspace, its home folder, and what else is configured.
    pub workspace: Room,
    /// Whether it gets the network that the owner configured; else none at all.
    pub network: bool,
    /// Hosts that it reaches besides, which a person was asked about.
    pub hosts: HostRules,
    /// More files and folders that it may read, which the tool vouches for: never a path that a model chose.
    pub readable: Vec<PathBuf>,
    /// More files and folders that it may change, such as a scratch folder of the tool; as above.
    pub writable: Vec<PathBuf>,
    /// Amounts other than the configured ones.
    pub resources: Option<Resources>,
}

/// What a program sees of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Room {
    /// Nothing of it, and no home folder.
    Hidden,
    /// All of it, to be read only.
    Read,
    /// All of it.
    #[default]
    Write,
}

impl Program {
    /// A program by its name, which is looked for in `PATH`, or by its absolute path. It starts in the workspace and may change it; it has no
    /// network, nothing to read, and as much time as its call.
    pub fn new(name: impl Into<OsString>) -> Self {
        Self {
            name: name.into(),
            args: Vec::new(),
            folder: None,
            env: Vec::new(),
            stdin: None,
            needs: Needs::default(),
            time: None,
            keep: KEEP,
            bridge: false,
            on: On::default(),
        }
    }

    /// The same in the Linux userland of the confines: its system in place of the host's, its `PATH`, its home, and its mirrors beside what
    /// the network allows. The folders of the workspace are at their own places.
    #[must_use]
    pub fn in_userland(mut self) -> Self {
        self.on = On::Userland;
        self
    }

    /// The same on the host itself, without any wall: it can do what the person can whose process this is. Only where the owner says so; its
    /// needs count for nothing.
    #[must_use]
    pub fn native(mut self) -> Self {
        self.on = On::Host;
        self
    }

    /// The same with more arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The same with one more variable; the last one of a name counts.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same in this folder; a relative one begins at the workspace. One that the program may not see is refused.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// The same with these bytes on standard input, which ends after them.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// The same with these needs.
    #[must_use]
    pub fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    /// The same with so much wall time; never more than its call has.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// The same keeping so many bytes of each stream.
    #[must_use]
    pub fn keep(mut self, bytes: usize) -> Self {
        self.keep = bytes;
        self
    }

    /// The same with one end of a socket as descriptor 3.
    #[must_use]
    pub fn bridge(mut self) -> Self {
        self.bridge = true;
        self
    }
}
