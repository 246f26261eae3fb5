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

The program can access the system folders (/usr, /etc, /opt), a private /tmp, and the paths of --read and --write; nothing else. Its environment \
consists of PATH, HOME and TMPDIR. When the program ends, all processes that it started are killed.

Exit codes: that of the program; 128 plus the number of a signal (137 also after exceeding a limit); 124 timed out; 126 the program cannot be \
executed; 127 the program does not exist; 2 a path or option is wrong; 5 this host cannot enforce the level of --level, or a limit at its own \
level; 1 the sandbox could not be created.";

const SHELL_HELP: &str = "\
The shell has the workspace, network access and limits of the programs that models run. The audit log (`toolcrib audit tail`) records each \
command under your name.

Exit codes: that of the shell; 2 standard input is not a terminal; 5 the kill switch is engaged; 1 the sandbox could not be created.";

const STATUS_HELP: &str = "\
The command creates a sandbox of each level and tries to break out of it: every printed line was tested just now. The last part is the Linux \
userland.

Exit codes: 0 a sandbox works, 1 none works.";

#[derive(Debug, Subcommand)]
pub(crate) enum Sandbox {
    /// Show what this host can enforce.
    #[command(after_help = STATUS_HELP)]
    Status,
    /// Run a program in a sandbox.
    #[command(after_help = EXEC_HELP)]
    Exec(Box<SandboxExec>),
    /// Open a shell in the sandbox of tools' programs.
    #[command(after_help = SHELL_HELP)]
    Shell(WorkspaceArgs),
    /// Install or repair the Linux userland: Alpine Linux in a folder, for programs of tools.
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
    /// Run the program in the Linux userland, as root there, with the home folder of tools'
    /// programs.
    #[arg(long)]
    pub(crate) userland: bool,
    /// File or folder that the program may read; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// File or folder that the program may read and change; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,
    /// File or folder that the program may neither read nor change, inside the allowed ones; may be
    /// repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) deny: Vec<PathBuf>,
    /// Working folder. Default: the first folder of --write, otherwise of --read, otherwise `/`.
    #[arg(long, value_name = "PATH")]
    pub(crate) cwd: Option<PathBuf>,
    /// Network access: none, the hosts of --allow-host through a proxy, or everything.
    #[arg(long, value_name = "NET", default_value = "none")]
    pub(crate) net: SandboxNet,
    /// Host to allow with --net proxy: NAME or *.NAME, each with :PORT (default: 80 and 443); may
    /// be repeated. Its addresses must be public.
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    pub(crate) allow_host: Vec<HostRule>,
    /// Target that the proxy may reach although it is not public: HOST:PORT, ADDRESS:PORT or
    /// NETWORK/BITS; may be repeated. Its host must be allowed too.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = parse_net_target, env = "TOOLCRIB_ALLOW_NET")]
    pub(crate) allow_net: Vec<String>,
    /// Memory limit of all processes and temporary files together, in MiB (default 4096).
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub(crate) memory: Option<u64>,
    /// Maximum number of processes and threads (default 1024).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) processes: Option<u32>,
    /// Maximum disk space that the program may use, temporary files included, in MiB (default
    /// 4096).
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub(crate) disk: Option<u64>,
    /// Maximum duration, in seconds or as 90s, 15m, 1h (default: none).
    #[arg(long, value_name = "S", value_parser = duration_and_money::parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Weakest acceptable isolation level: none, reduced or namespace.
    #[arg(long, value_name = "MINIMUM", default_value = "reduced")]
    pub(crate) level: Level,
    /// Program and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    pub(crate) command: Vec<OsString>,
}

impl SandboxExec {
    /// Parses the arguments of `sandbox exec` without the many other commands, which takes longer
    /// than starting the sandbox itself. Returns `None` if the arguments are invalid or belong to
    /// another command: the caller, which knows all commands, then reports details.
    pub(super) fn parse_fast_path(words: &[OsString]) -> Option<Cli> {
        // Every command accepts these options: `--version` fails here like an invalid option, and
        // the full parser prints it.
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
    /// No network.
    None,
    /// The hosts of --allow-host.
    Proxy,
    /// Everything that this machine can reach.
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
