//! Table of wrapper programs, which run their arguments.
//!
//! Allow rules also see the command inside these wrappers:
//! - `timeout`, `time`, `nice`, `nohup`, `stdbuf`, `command`: their options and operands are
//!   skipped.
//! - `xargs` without options; standard input becomes an unknown last word.
//!
//! Only deny and ask rules see the command inside these:
//! - `xargs` with options; with `-I R` the unknown word also replaces `R`.
//! - `sudo`, `doas`, `env`, `exec`, `builtin`, `noglob`, `nocorrect`, `setsid`, `ionice`, `chrt`,
//!   `taskset`, `chroot`, `busybox`, `toybox`, …: their options and operands are skipped.
//! - `unshare`, `nsenter`, `strace`, `ltrace`, `gdb`, `systemd-run`, `start-stop-daemon`, …: every
//!   later word may begin the command.
//! - `su`, `runuser`, `script`, `flock`, `watch`, `ssh`, `parallel`, `trap`, `alias`, …: every
//!   later word may begin the command, and may be a text for a shell.
//! - `docker`, `podman`, `kubectl`, `npm`, `uv`, …: the same for every word after `run`, `exec` and
//!   similar.
//! - `sh`, `bash`, `dash`, `zsh`, `ksh`, …: the text after `-c`, and their input.
//! - `eval`: its arguments as a text.
//! - `find`, `fd`: the words after `-exec`, `-execdir`, `-ok`, `-okdir` (`-x`, `-X`).
//! - `git`: global options are skipped; commands in settings, and the commands of `bisect run`,
//!   `submodule foreach` and `rebase --exec`.
//!
//! If the options of a program are not known, every later word may begin the command, for deny and
//! ask rules only.
//!
//! Sources: the manual pages of GNU coreutils 9, findutils 4.9, util-linux 2.39, sudo 1.9, git 2.43
//! and bash 5.2.
#![deny(clippy::indexing_slicing)]

/// The options before the command that a wrapper runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Letters of options without a value.
    pub(super) flags: &'static str,
    /// Letters of options with a value, in the same word or the next.
    pub(super) values: &'static str,
    /// Letters of options whose value is in the same word or omitted.
    pub(super) optional: &'static str,
    /// Long options without a value, or with an optional value after `=`.
    pub(super) long_flags: &'static [&'static str],
    /// Long options with a value after `=` or in the next word.
    pub(super) long_values: &'static [&'static str],
    /// Number of operands between the options and the command.
    pub(super) operands: usize,
    /// Whether `NAME=VALUE` may precede the command.
    pub(super) assigns: bool,
}

/// No options.
const PLAIN: Options = Options {
    flags: "",
    values: "",
    optional: "",
    long_flags: &[],
    long_values: &[],
    operands: 0,
    assigns: false,
};

/// The arguments of a program that form a command.
#[derive(Debug, Clone, Copy)]
pub(super) enum CommandPosition {
    /// The words after these options.
    Command(Options),
    /// Every later word may begin it; the words may also be texts for a shell.
    Rest,
    /// Like `Rest`, after one of these words.
    After(&'static [&'static str]),
    /// The text after `-c`, or the input.
    Shell,
    /// The arguments as a text.
    Eval,
    /// A file, which is not read here, or a text from the line.
    Source,
    /// Commands between `-exec` and `;` or `+`.
    Find,
    /// See the module documentation.
    Git,
}

/// A wrapper program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    /// Whether allow rules see the wrapped command.
    pub(super) allow: bool,
    pub(super) runs: CommandPosition,
}

const fn wrapper(names: &'static [&'static str], allow: bool, runs: CommandPosition) -> Wrapper {
    Wrapper { names, allow, runs }
}

/// The longest name in the table.
const MAX_NAME: usize = 21;

/// The table.
const WRAPPERS: &[Wrapper] = &[
    wrapper(
        &["timeout"],
        true,
        CommandPosition::Command(Options {
            flags: "vfp",
            values: "ks",
            long_flags: &["foreground", "preserve-status", "verbose"],
            long_values: &["kill-after", "signal"],
            operands: 1,
            ..PLAIN
        }),
    ),
    wrapper(&["time"], true, CommandPosition::Command(Options { flags: "p", ..PLAIN })),
    wrapper(
        &["nice"],
        true,
        CommandPosition::Command(Options { values: "n", long_values: &["adjustment"], ..PLAIN }),
    ),
    wrapper(&["nohup"], true, CommandPosition::Command(PLAIN)),
    wrapper(
        &["stdbuf"],
        true,
        CommandPosition::Command(Options {
            values: "ioe",
            long_values: &["input", "output", "error"],
            ..PLAIN
        }),
    ),
    wrapper(&["command"], true, CommandPosition::Command(Options { flags: "p", ..PLAIN })),
    wrapper(
        &["xargs"],
        true,
        CommandPosition::Command(Options {
            flags: "0oprtx",
            values: "adEIJLnPRSs",
            optional: "eil",
            long_flags: &[
                "null",
                "open-tty",
                "interactive",
                "no-run-if-empty",
                "verbose",
                "exit",
                "show-limits",
                "replace",
                "eof",
                "max-lines",
            ],
            long_values: &[
                "arg-file",
                "delimiter",
                "max-args",
                "max-procs",
                "max-chars",
                "process-slot-var",
            ],
            ..PLAIN
        }),
    ),
    wrapper(
        &["sudo"],
        false,
        CommandPosition::Command(Options {
            flags: "AbBEeHiKklNnPSsVv",
            values: "CDghpRrTtUu",
            long_flags: &[
                "askpass",
                "background",
                "bell",
                "preserve-env",
                "edit",
                "set-home",
                "login",
                "remove-timestamp",
                "reset-timestamp",
                "list",
                "non-interactive",
                "preserve-groups",
                "stdin",
                "shell",
                "validate",
                "no-update",
            ],
            long_values: &[
                "close-from",
                "chdir",
                "group",
                "host",
                "prompt",
                "chroot",
                "role",
                "command-timeout",
                "type",
                "other-user",
                "user",
            ],
            assigns: true,
            ..PLAIN
        }),
    ),
    wrapper(
        &["doas"],
        false,
        CommandPosition::Command(Options { flags: "nLs", values: "Cu", ..PLAIN }),
    ),
    wrapper(
        &["env"],
        false,
        CommandPosition::Command(Options {
            flags: "i0v",
            values: "uC",
            long_flags: &[
                "ignore-environment",
                "null",
                "debug",
                "block-signal",
                "default-signal",
                "ignore-signal",
                "list-signal-handling",
            ],
            long_values: &["unset", "chdir"],
            assigns: true,
            ..PLAIN
        }),
    ),
    wrapper(
        &["exec"],
        false,
        CommandPosition::Command(Options { flags: "cl", values: "a", ..PLAIN }),
    ),
    wrapper(
        &[
            "builtin",
            "noglob",
            "nocorrect",
            "busybox",
            "toybox",
            "then",
            "do",
            "else",
            "!",
            "{",
            "coproc",
        ],
        false,
        CommandPosition::Command(PLAIN),
    ),
    wrapper(
        &["setsid"],
        false,
        CommandPosition::Command(Options {
            flags: "cfw",
            long_flags: &["ctty", "fork", "wait"],
            ..PLAIN
        }),
    ),
    wrapper(
        &["ionice"],
        false,
        CommandPosition::Command(Options {
            flags: "t",
            values: "cn",
            long_flags: &["ignore"],
            long_values: &["class", "classdata"],
            ..PLAIN
        }),
    ),
    wrapper(
        &["chroot"],
        false,
        CommandPosition::Command(Options {
            long_flags: &["skip-chdir"],
            long_values: &["userspec", "groups"],
            operands: 1,
            ..PLAIN
        }),
    ),
    wrapper(
        &[
            "unshare",
            "nsenter",
            "strace",
            "ltrace",
            "gdb",
            "valgrind",
            "perf",
            "systemd-run",
            "start-stop-daemon",
            "chrt",
            "taskset",
            "numactl",
            "prlimit",
            "setpriv",
            "setarch",
            "linux32",
            "linux64",
            "cgexec",
            "firejail",
            "bwrap",
            "proot",
            "torsocks",
            "proxychains",
            "proxychains4",
            "runcon",
            "sg",
            "newgrp",
            "daemonize",
            "dtach",
            "abduco",
            "unbuffer",
            "rlwrap",
            "catchsegv",
            "hyperfine",
            "multitime",
            "faketime",
            "xvfb-run",
            "eatmydata",
            "chpst",
            "setuidgid",
            "softlimit",
            "envdir",
            "s6-setuidgid",
            "gosu",
            "su-exec",
            "tini",
            "dumb-init",
            "catatonit",
            "aa-exec",
            "choom",
            "uclampset",
            "trickle",
            "cpulimit",
            "retry",
            "chronic",
            "ifne",
            "pee",
            "lckdo",
            "direnv",
            "devbox",
            "nix-shell",
            "flatpak-spawn",
            "distrobox-enter",
            "toolbox",
            "machinectl",
            "tsocks",
            "time-limit",
            "timelimit",
            "run0",
            "sudo-rs",
            "i386",
            "x86_64",
            "uname26",
            "capsh",
            "lxc-attach",
            "systemd-nspawn",
            "ssh-agent",
            "dbus-launch",
            "dbus-run-session",
            "pkexec",
            "fakeroot",
            "caffeinate",
            "winpty",
            "openvt",
            "xterm",
            "npx",
            "uvx",
            "watchexec",
            "at",
            "batch",
            "ld.so",
            "ld-linux.so.2",
            "ld-linux-x86-64.so.2",
            "ld-linux-aarch64.so.1",
        ],
        false,
        CommandPosition::Rest,
    ),
    wrapper(
        &[
            "su",
            "runuser",
            "script",
            "flock",
            "watch",
            "ssh",
            "parallel",
            "sem",
            "trap",
            "alias",
            "screen",
            "tmux",
            "entr",
            "rsh",
            "mosh",
            "sshpass",
            "autossh",
            "fish",
            "nu",
            "pwsh",
            "csh",
            "tcsh",
            "elvish",
            "compgen",
            "complete",
            "bind",
            "fc",
            "mapfile",
            "readarray",
        ],
        false,
        CommandPosition::Rest,
    ),
    wrapper(
        &[
            "docker",
            "podman",
            "nerdctl",
            "kubectl",
            "oc",
            "lxc",
            "incus",
            "docker-compose",
            "podman-compose",
            "flatpak",
            "apptainer",
            "singularity",
            "buildah",
            "crictl",
            "ctr",
            "uv",
            "poetry",
            "pipenv",
        ],
        false,
        CommandPosition::After(&["run", "exec", "create", "debug"]),
    ),
    wrapper(
        &["npm", "pnpm", "yarn", "bundle"],
        false,
        CommandPosition::After(&["exec", "x", "dlx"]),
    ),
    wrapper(
        &[
            "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "lksh", "pdksh", "ash", "rbash",
            "rksh", "rzsh", "yash", "posh", "hush",
        ],
        false,
        CommandPosition::Shell,
    ),
    wrapper(&["eval"], false, CommandPosition::Eval),
    wrapper(&["source", "."], false, CommandPosition::Source),
    wrapper(&["find", "gfind", "fd", "fdfind", "bfs"], false, CommandPosition::Find),
    wrapper(&["git"], false, CommandPosition::Git),
];

/// Returns whether the program may start a shell that reads the program's input.
pub(super) fn reads_commands(name: &str) -> bool {
    matches!(
        name,
        "su" | "runuser"
            | "ssh"
            | "parallel"
            | "script"
            | "at"
            | "batch"
            | "unshare"
            | "nsenter"
            | "systemd-nspawn"
            | "lxc-attach"
            | "run0"
            | "sudo-rs"
            | "capsh"
            | "firejail"
            | "sg"
            | "newgrp"
            | "rsh"
            | "mosh"
            | "sshpass"
            | "autossh"
            | "fish"
            | "nu"
            | "pwsh"
            | "csh"
            | "tcsh"
            | "elvish"
    )
}

/// Returns whether a program that may start a shell passes it its input, with this number of
/// arguments.
pub(super) fn runs_input(name: &str, args: usize) -> bool {
    match name {
        "at" | "batch" => true,
        "parallel" | "sem" => args == 0,
        _ => reads_commands(name) && args < 2,
    }
}

/// Returns the wrapper with this name, without a directory.
pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    if name.len() > MAX_NAME {
        return None;
    }
    by_name().get(name).copied()
}

fn by_name() -> &'static std::collections::HashMap<&'static str, &'static Wrapper> {
    static BY_NAME: std::sync::OnceLock<std::collections::HashMap<&str, &Wrapper>> =
        std::sync::OnceLock::new();
    BY_NAME.get_or_init(|| {
        WRAPPERS.iter().flat_map(|w| w.names.iter().map(move |name| (*name, w))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_stand_once() {
        let names: Vec<&str> = WRAPPERS.iter().flat_map(|w| w.names.iter().copied()).collect();
        assert_eq!(by_name().len(), names.len());
        assert!(names.iter().all(|name| name.len() <= MAX_NAME && !name.contains('/')));
    }

    #[test]
    fn allow_rules_look_past_seven_programs() {
        let allowed: Vec<&str> =
            WRAPPERS.iter().filter(|w| w.allow).flat_map(|w| w.names.iter().copied()).collect();
        assert_eq!(allowed, ["timeout", "time", "nice", "nohup", "stdbuf", "command", "xargs"]);
    }
}
