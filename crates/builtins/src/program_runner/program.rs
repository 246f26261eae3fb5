//! A program that a tool runs, and its needs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use toolcrib_sandbox::{HostRules, Resources};

/// Bytes kept of each stream, half from its beginning and half from its end, unless the tool sets
/// another limit.
const MAX_OUTPUT: usize = 256 * 1024;

/// One program with its arguments. Its environment consists of the variables of the policy (`PATH`,
/// `HOME`, `LANG`, those that the owner configured) and those set here.
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
    pub(super) on: BackendChoice,
    pub(super) filters_reads: bool,
    pub(super) has_own_history: bool,
}

/// The system on which a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum BackendChoice {
    /// The host's system, in a sandbox.
    #[default]
    Sandbox,
    /// The Linux userland, in a sandbox.
    Userland,
    /// The host without a sandbox.
    Host,
}

/// The needs of a program. It gets at most the access that the owner allows, plus the paths that
/// the tool itself adds.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    /// Access to the workspace, its home folder, and other configured folders.
    pub workspace: WorkspaceAccess,
    /// Whether it gets the network that the owner configured; otherwise none.
    pub network: bool,
    /// Additional hosts that a person has approved.
    pub hosts: HostRules,
    /// Additional readable paths that the tool itself guarantees; never chosen by a model.
    pub readable: Vec<PathBuf>,
    /// Additional writable paths, such as a scratch folder of the tool; never chosen by a model.
    pub writable: Vec<PathBuf>,
    /// Resource limits that replace the configured ones.
    pub resources: Option<Resources>,
    /// Hosts that the owner allows for this program only, independent of the network of other
    /// programs. Without `network`, the program can connect only to these.
    pub own_hosts: Option<HostRules>,
    /// Paths that appear empty.
    pub masked: Vec<PathBuf>,
}

/// Access of a program to the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WorkspaceAccess {
    /// Neither the workspace nor a home folder.
    Hidden,
    /// Read-only.
    Read,
    /// Writable.
    #[default]
    Write,
}

impl Program {
    /// Returns the name of the executable without its folder.
    pub(super) fn display_name(&self) -> String {
        let path = std::path::Path::new(&self.name);
        path.file_name().unwrap_or(&self.name).to_string_lossy().into_owned()
    }

    /// Creates a program from a name, which is searched in `PATH`, or an absolute path. By default
    /// it starts in the workspace with write access, without network and input, and with the time
    /// limit of its call.
    pub fn new(name: impl Into<OsString>) -> Self {
        Self {
            name: name.into(),
            args: Vec::new(),
            folder: None,
            env: Vec::new(),
            stdin: None,
            needs: Needs::default(),
            time: None,
            keep: MAX_OUTPUT,
            bridge: false,
            on: BackendChoice::default(),
            filters_reads: false,
            has_own_history: false,
        }
    }

    /// Runs it in the Linux userland: with the userland's system, `PATH`, home and package mirrors
    /// instead of the host's. Workspace folders keep their paths.
    #[must_use]
    pub fn in_userland(mut self) -> Self {
        self.on = BackendChoice::Userland;
        self
    }

    /// Runs it on the host without a sandbox, with all rights of the user. Allowed only if the
    /// owner permits it; its needs are ignored.
    #[must_use]
    pub fn native(mut self) -> Self {
        self.on = BackendChoice::Host;
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a variable; the last one of a name counts.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets the working folder, relative to the workspace. A folder that the program may not see is
    /// refused.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Passes these bytes on standard input, which ends after them.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Sets its needs.
    #[must_use]
    pub fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    /// Sets the wall time limit; never more than that of its call.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Sets how many bytes of each stream are kept.
    #[must_use]
    pub fn keep(mut self, bytes: usize) -> Self {
        self.keep = bytes;
        self
    }

    /// Declares that the tool itself excludes files that rules deny to the call, so the program may
    /// see them. Only for a program that runs nothing chosen by the caller or the workspace.
    #[must_use]
    pub fn filters_reads(mut self) -> Self {
        self.filters_reads = true;
        self
    }

    /// Declares that the program keeps a history of the files that it changes, as version control
    /// does; the undo journal then does not record them.
    #[must_use]
    pub fn has_own_history(mut self) -> Self {
        self.has_own_history = true;
        self
    }

    /// Passes one end of a socket pair as descriptor 3.
    #[must_use]
    pub fn bridge(mut self) -> Self {
        self.bridge = true;
        self
    }
}
