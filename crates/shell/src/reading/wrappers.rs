//! Programs that run their arguments, as data.
//!
//! | names | what is looked past | for allow rules too |
//! |---|---|---|
//! | `timeout`, `time`, `nice`, `nohup`, `stdbuf`, `command` | their options and operands, to the command | yes |
//! | `xargs` | its options, to the command; standard input stands as an unknown last word, and in the place of `-I R` | without options |
//! | `sudo`, `doas`, `env`, `exec`, `builtin`, `noglob`, `nocorrect`, `setsid`, `ionice`, `chrt`, `taskset`, `chroot`, `busybox`, `toybox`, … | their options and operands, to the command | no |
//! | `unshare`, `nsenter`, `strace`, `ltrace`, `gdb`, `systemd-run`, `start-stop-daemon`, … | every later word may begin the command | no |
//! | `su`, `runuser`, `script`, `flock`, `watch`, `ssh`, `parallel`, `trap`, `alias`, … | every later word may begin the command, and may be a text for a shell | no |
//! | `docker`, `podman`, `kubectl`, `npm`, `uv`, … | every word after `run`, `exec` and the like may begin the command, and may be a text for a shell | no |
//! | `sh`, `bash`, `dash`, `zsh`, `ksh`, … | the text after `-c`; their input | no |
//! | `eval` | its arguments as a text | no |
//! | `find`, `fd` | what stands after `-exec`, `-execdir`, `-ok`, `-okdir` (`-x`, `-X`) | no |
//! | `git` | global options, to the subcommand; commands in settings; what `bisect run`, `submodule foreach`, `rebase --exec` run | no |
//!
//! Where the options of a program are not understood, every later word may begin the command, for deny and ask rules only.
//! Sources: the manual pages of GNU coreutils 9, findutils 4.9, util-linux 2.39, sudo 1.9, git 2.43 and bash 5.2.
#![deny(clippy::indexing_slicing)]

/// Options in front of the command that a program runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Letters of options without a value.
    pub(super) flags: &'static str,
    /// Letters of options with a value, in the same word or the next.
    pub(super) values: &'static str,
    /// Letters of options whose value stands in the same word or is left out.
    pub(super) optional: &'static str,
    /// Long options without a value, or with one after `=`.
    pub(super) long_flags: &'static [&'static str],
    /// Long options with a value after `=` or in the next word.
    pub(super) long_values: &'static [&'static str],
    /// Words between the options and the command.
    pub(super) operands: usize,
    /// `NAME=VALUE` may stand in front of the command.
    pub(super) assigns: bool,
}

/// No options at all.
const PLAIN: Options = Options {
    flags: "",
    values: "",
    optional: "",
    long_flags: &[],
    long_values: &[],
    operands: 0,
    assigns: false,
};

/// What of a program's arguments runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Runs {
    /// The words after options that are known.
    Command(Options),
    /// Any later word may begin it; they may be texts for a shell too.
    Rest,
    /// The same, after one of these words.
    After(&'static [&'static str]),
    /// The text after `-c`, or its input.
    Shell,
    /// Its arguments as a text.
    Eval,
    /// A file, which is not read here, or a text of the line.
    Source,
    /// Commands between `-exec` and `;` or `+`.
    Find,
    /// See the table.
    Git,
}

/// A program that runs its arguments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    /// Allow rules look past it.
    pub(super) allow: bool,
    pub(super) runs: Runs,
}

const fn wrapper(names: &'static [&'static str], allow: bool, runs: Runs) -> Wrapper {
    Wrapper { names, allow, runs }
}

/// No name in the table is longer.
const MAX_NAME: usize = 21;

/// All of them.
const WRAPPERS: &[Wrapper] = &[
    wrapper(
        &["timeout"],
        true,
        Runs::Command(Options {
            flags: "vfp",
            values: "ks",
            long_flags: &["foreground", "preserve-status", "verbose"],
            long_values: &["kill-after", "signal"],
            operands: 1,
            ..PLAIN
        }),
    ),
    wrapper(&["time"], true, Runs::Command(Options { flags: "p", ..PLAIN })),
    wrapper(
        &["nice"],
        true,
        Runs::Command(Options { values: "n", long_values: &["adjustment"], ..PLAIN }),
    ),
    wrapper(&["nohup"], true, Runs::Command(PLAIN)),
    wrapper(
        &["stdbuf"],
        true,
        Runs::Command(Options {
            values: "ioe",
            long_values: &["input", "output", "error"],
            ..PLAIN
        }),
    ),
    wrapper(&["command"], true, Runs::Command(Options { flags: "p", ..PLAIN })),
    wrapper(
        &["xargs"],
        true,
        Runs::Command(Options {
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
        Runs::Command(Options {
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
    wrapper(&["doas"], false, Runs::Command(Options { flags: "nLs", values: "Cu", ..PLAIN })),
    wrapper(
        &["env"],
        false,
        Runs::Command(Options {
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
    wrapper(&["exec"], false, Runs::Command(Options { flags: "cl", values: "a", ..PLAIN })),
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
        Runs::Command(PLAIN),
    ),
    wrapper(
        &["setsid"],
        false,
        Runs::Command(Options { flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..PLAIN }),
    ),
    wrapper(
        &["ionice"],
        false,
        Runs::Command(Options {
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
        Runs::Command(Options {
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
        Runs::Rest,
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
        Runs::Rest,
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
        Runs::After(&["run", "exec", "create", "debug"]),
    ),
    wrapper(&["npm", "pnpm", "yarn", "bundle"], false, Runs::After(&["exec", "x", "dlx"])),
    wrapper(
        &[
            "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "lksh", "pdksh", "ash", "rbash",
            "rksh", "rzsh", "yash", "posh", "hush",
        ],
        false,
        Runs::Shell,
    ),
    wrapper(&["eval"], false, Runs::Eval),
    wrapper(&["source", "."], false, Runs::Source),
    wrapper(&["find", "gfind", "fd", "fdfind", "bfs"], false, Runs::Find),
    wrapper(&["git"], false, Runs::Git),
];

/// Whether the program may start a shell that reads the program's input.
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

/// The wrapper of that name, which has no directory in it.
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
