//! `toolcrib sandbox`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, Args, FromArgMatches as _, Subcommand, ValueEnum};
use toolcrib_sandbox::{HostRule, Level};

use super::shared::{WorkspaceArgs, parse_net_target};
use super::userland::{self, UserlandInstall, UserlandPackages, UserlandUninstall};
use super::{Cli, Command};
use crate::config::duration_and_money;

const EXEC_HELP: &str = "\
Examples:
  toolcrib sandbox exec --write . -- make test
  toolcrib sandbox exec --read ./data --memory 512 --timeout 30 -- python3 -c 'print(1)'
  toolcrib sandbox exec --write . --net proxy --allow-host '*.example.com' -- curl -sS https://files.example.com/list

The program sees the folders of the system (/usr, /etc, /opt), a /tmp of its own, what --read and --write name, and nothing else; its \
variables are PATH, HOME and TMPDIR. When it ends, everything that it started ends.

Exit codes: that of the program, 128 and the number for a signal (137 also where it went over a limit); 124 its time was over; 126 it \
cannot be run; 127 there is no such program; 2 a path or word is wrong; 5 this host cannot give the level that --level asks for, or \
cannot keep what was asked for at the level that it gives; 1 the sandbox could not be made.";

const SHELL_HELP: &str = "\
It has the workspace, the network and the limits of the programs that models run, and nothing else. Each command is written into the \
audit (`toolcrib audit tail`) under your name.

Exit codes: that of the shell; 2 this is no terminal; 5 all tools are off; 1 the sandbox could not be made.";

const STATUS_HELP: &str = "\
A sandbox of each level is made, and a process in it tries what it should not be able to do: what is printed was tried just now. The last \
part is the Linux userland.

Exit codes: 0 there is a sandbox, 1 there is none.";

#[derive(Debug, Subcommand)]
pub(crate) enum Sandbox {
    /// Show what this host enforces, case by case.
    #[command(after_help = STATUS_HELP)]
    Status,
    /// Run a program in a sandbox.
    #[command(after_help = EXEC_HELP)]
    Exec(Box<SandboxExec>),
    /// Open a shell in the sandbox that programs of tools run in.
    #[command(after_help = SHELL_HELP)]
    Shell(WorkspaceArgs),
    /// Install the Linux userland, or repair it: Alpine Linux in a folder, for programs of tools.
    #[command(after_help = userland::INSTALL_HELP)]
    Install(UserlandInstall),
    /// Remove the Linux userland.
    #[command(after_help = userland::UNINSTALL_HELP)]
    Uninstall(UserlandUninstall),
    /// List, find, install and remove packages of the Linux userland.
    #[command(after_help = userland::PACKAGES_HELP)]
    Packages(UserlandPackages),
}

#[derive(Debug, Args)]
pub(crate) struct SandboxExec {
    /// Run it in the Linux userland in place of this system: it is root there, and its home is that
    /// of programs.
    #[arg(long)]
    pub(crate) userland: bool,
    /// File or folder that it may read; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// File or folder that it may read and change; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,
    /// File or folder that it may neither read nor change, within what it may; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) deny: Vec<PathBuf>,
    /// Folder that it starts in. Default: the first folder of --write, else of --read, else `/`.
    #[arg(long, value_name = "PATH")]
    pub(crate) cwd: Option<PathBuf>,
    /// What it reaches over the network: nothing, the hosts of --allow-host through a proxy, or
    /// everything.
    #[arg(long, value_name = "NET", default_value = "none")]
    pub(crate) net: SandboxNet,
    /// Host that it may reach with --net proxy: NAME, *.NAME, each with :PORT (default: 80 and
    /// 443); may be repeated. Its addresses have to be public.
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    pub(crate) allow_host: Vec<HostRule>,
    /// Target that the proxy may reach although it is not public: HOST:PORT, ADDRESS:PORT or
    /// NETWORK/BITS; may be repeated. Its host has to be allowed too.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = parse_net_target, env = "TOOLCRIB_ALLOW_NET")]
    pub(crate) allow_net: Vec<String>,
    /// Memory of all its processes and temporary files together, in MiB (default 4096).
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub(crate) memory: Option<u64>,
    /// Processes and threads at one time (default 1024).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) processes: Option<u32>,
    /// What it may fill of the disk, temporary files included, in MiB (default 4096).
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub(crate) disk: Option<u64>,
    /// Time from start to end, in seconds or as 90s, 15m, 1h (default: none).
    #[arg(long, value_name = "S", value_parser = duration_and_money::parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// The weakest level that will do: none, reduced or namespace.
    #[arg(long, value_name = "MINIMUM", default_value = "reduced")]
    pub(crate) level: Level,
    /// The program and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    pub(crate) command: Vec<OsString>,
}

impl SandboxExec {
    /// Reads the words after `sandbox exec` without the many other commands, which takes longer
    /// than the sandbox itself. `None` = the words are not all its own, or wrong: the caller, which
    /// knows all commands, reports more about them.
    pub(super) fn parse_fast_path(words: &[OsString]) -> Option<Cli> {
        // What every command has: the version stops here as a mistake does, and the long way prints
        // it.
        let json = Arg::new("json").long("json").action(ArgAction::SetTrue);
        let command = clap::Command::new("exec").no_binary_name(true).version("0").arg(json);
        let command = Self::augment_args(command);
        let found = command.try_get_matches_from(words).ok()?;
        let exec = Self::from_arg_matches(&found).ok()?;
        let json = found.get_flag("json");
        Some(Cli { json, command: Command::Sandbox(Sandbox::Exec(Box::new(exec))) })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxNet {
    /// Nothing.
    None,
    /// The hosts of --allow-host.
    Proxy,
    /// Everything that this machine reaches.
    Full,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn the_short_way_reads_what_the_long_one_reads() {
        let check = |line: &str, is_short: bool| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let short = SandboxExec::parse_fast_path(&words);
            assert_eq!(short.is_some(), is_short, "{line}");
            let all = ["toolcrib", "sandbox", "exec"].map(OsString::from).into_iter().chain(words);
            let long = Cli::try_parse_from(all);
            if let Some(short) = short {
                assert_eq!(format!("{short:?}"), format!("{:?}", long.unwrap()), "{line}");
            }
        };
        check("-- true", true);
        check("true --json --read x", true);
        check("--read a --read b --write c --deny d --cwd e --memory 5 --disk 6 -- sh -c x", true);
        check("--net proxy --allow-host a.example,*.b.example --allow-net 10.0.0.1:80 -- x", true);
        check("--userland --processes 3 --timeout 90s --level namespace x y -z", true);
        check("", false);
        check("--help", false);
        check("--json -- true", true);
        check("true --json", true);
        check("--version", false);
        check("-V -- true", false);
        check("--level middling -- true", false);
        check("--nothing -- true", true);
    }
}
