//! Execution target of shells: the Linux userland, a sandbox with the host's system, or the host
//! itself; and the limits of each.

use std::time::Duration;

use toolcrib_sandbox::userland::{ShellTarget, State};
use toolcrib_sandbox::{HostRules, Network};

use super::command_framing::Language;
use crate::program_runner::{Needs, Program, ProgramPolicy};

/// Characters kept of each stream of a command, half from its beginning and half from its end.
const OUTPUT_LIMIT: usize = 30_000;
/// [`OUTPUT_LIMIT`] in the userland.
const OUTPUT_LIMIT_IN_USERLAND: usize = 15_000;

/// Longest time limit of a command.
const MAX_TIMEOUT: Duration = Duration::from_secs(120);
/// [`MAX_TIMEOUT`] in the userland.
const MAX_TIMEOUT_IN_USERLAND: Duration = Duration::from_secs(60);

/// Where a shell runs, and which shell it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExecutionTarget {
    pub(crate) target: ShellTarget,
    pub(super) language: Language,
}

impl ExecutionTarget {
    /// Returns the target of shells that start now.
    pub(crate) fn from_policy(confines: &ProgramPolicy) -> Self {
        let target = confines.shell_target();
        let language = match &confines.userland {
            Some(userland) if target == ShellTarget::Userland && userland.shell() == "sh" => {
                Language::Sh
            }
            _ => Language::Bash,
        };
        Self { target, language }
    }

    /// Creates the program of a shell without start-up files. The first argument is its driver
    /// program. `hosts` are allowed in addition to the configured ones.
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

    /// Returns the maximum bytes that are stored of each stream.
    pub(crate) fn output_limit(self) -> usize {
        if self.target == ShellTarget::Userland { OUTPUT_LIMIT_IN_USERLAND } else { OUTPUT_LIMIT }
    }

    /// Returns the longest time limit of a command.
    pub(crate) fn max_timeout(self) -> Duration {
        if self.target == ShellTarget::Userland { MAX_TIMEOUT_IN_USERLAND } else { MAX_TIMEOUT }
    }

    /// Returns whether a command can neither send data out nor change anything but the workspace
    /// and its own home. The userland is not closed where individual hosts are allowed, since that
    /// includes its package mirrors.
    pub(crate) fn is_closed(self, confines: &ProgramPolicy) -> bool {
        match self.target {
            ShellTarget::Userland => {
                confines.network == Network::None && confines.writable.is_empty()
            }
            ShellTarget::HostSandbox => confines.is_closed(),
            ShellTarget::Native => false,
        }
    }

    /// Describes the shell, the system, and the limits of commands, for the model.
    pub(crate) fn describe(self, confines: &ProgramPolicy) -> String {
        let shell = self.language.describe();
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
                    MAX_TIMEOUT_IN_USERLAND.as_secs()
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

/// Returns the name of the host's operating system for people.
fn host() -> &'static str {
    match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "macOS",
        other => other,
    }
}
