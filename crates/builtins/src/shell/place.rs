//! Where shells run: in the Linux userland, in a sandbox with the host's system, or on the host itself; and what is different there.

use std::time::Duration;

use toolcrib_sandbox::userland::{ShellTarget, State};
use toolcrib_sandbox::{HostRules, Network};

use super::driver::Language;
use crate::workbench::{Confines, Needs, Program};

/// Bytes kept of each stream of a command, half at its beginning and half at its end (DESIGN 9, Bounds: 30,000, in the userland 15,000).
const KEPT: usize = 30_000;
/// See [`KEPT`].
const KEPT_IN_USERLAND: usize = 15_000;

/// Most time of a command (seed 000: 120 s, in the userland 60 s).
const MOST_TIME: Duration = Duration::from_secs(120);
/// See [`MOST_TIME`].
const MOST_TIME_IN_USERLAND: Duration = Duration::from_secs(60);

/// Where a shell runs, and which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) target: ShellTarget,
    pub(super) language: Language,
}

impl Place {
    /// Where shells run that start now.
    pub(crate) fn of(confines: &Confines) -> Self {
        let target = confines.shell_target();
        let language = match &confines.userland {
            Some(userland) if target == ShellTarget::Userland && userland.shell() == "sh" => {
                Language::Sh
            }
            _ => Language::Bash,
        };
        Self { target, language }
    }

    /// A shell without any start-up file, with what it needs. The first argument is its program.
    /// It reaches these hosts besides those that are allowed.
    pub(super) fn shell<'a>(
        self,
        args: impl IntoIterator<Item = &'a str>,
        hosts: HostRules,
    ) -> Program {
        let program = match self.language {
            Language::Bash => Program::new("bash").args(["--noprofile", "--norc", "-c"]),
            Language::Sh => Program::new("sh").args(["-c"]),
        };
        let program = program.args(args).needs(Needs { network: true, hosts, ..Needs::default() });
        match self.target {
            ShellTarget::Userland => program.in_userland(),
            ShellTarget::HostSandbox => program,
            ShellTarget::Native => program.native(),
        }
    }

    /// The most bytes kept of each stream.
    pub(crate) fn kept(self) -> usize {
        if self.target == ShellTarget::Userland { KEPT_IN_USERLAND } else { KEPT }
    }

    /// The most time of a command.
    pub(crate) fn most_time(self) -> Duration {
        if self.target == ShellTarget::Userland { MOST_TIME_IN_USERLAND } else { MOST_TIME }
    }

    /// Whether a command can neither send anything away nor change anything but the workspace and its own home. In the userland the mirrors of its
    /// packages are reached wherever single hosts are.
    pub(crate) fn is_closed(self, confines: &Confines) -> bool {
        match self.target {
            ShellTarget::Userland => {
                confines.network == Network::None && confines.writable.is_empty()
            }
            ShellTarget::HostSandbox => confines.is_closed(),
            ShellTarget::Native => false,
        }
    }

    /// The shell and the system, and what a command can do, for the model.
    pub(crate) fn words(self, confines: &Confines) -> String {
        let shell = self.language.words();
        let home = "it can change the workspace and its own home folder";
        let hosts = "hosts on the network have to be allowed by the user";
        match self.target {
            ShellTarget::Userland => {
                let state = confines.userland.as_ref().map(|userland| userland.status().state);
                let system = match state {
                    Some(State::Ready(ready)) => format!("{} {}", ready.name, ready.version),
                    _ => "Alpine Linux".to_owned(),
                };
                format!(
                    "{shell} on {system}, a Linux of its own in a sandbox: you are root there and may install packages (apk add), {home}; {hosts}. Commands have at most {} s here",
                    MOST_TIME_IN_USERLAND.as_secs()
                )
            }
            ShellTarget::HostSandbox => {
                format!("{shell} on {}, in a sandbox: {home} and read the system; {hosts}", host())
            }
            ShellTarget::Native => format!(
                "{shell} on {}, as the user and without a sandbox: it can do what the user can",
                host()
            ),
        }
    }
}

/// The system of this machine as people call it.
fn host() -> &'static str {
    match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "macOS",
        other => other,
    }
}
