//! The commands of the workspace itself: `cargo xtask COMMAND`.
//!
//! Each step of developing Toolcrib is one of these commands, so that none is kept in a shell
//! history. Only the standard library and some small crates: it builds in seconds on a fresh
//! machine.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for the terminal: printing is what it does"
)]

mod api_fuzz;
mod bench;
mod check;
mod clients;
mod crash;
mod dist;
mod eval_find;
mod flags;
mod fuzz;
mod gen_docs;
mod mcp_conformance;
mod mcp_servers;
mod miri;
mod page;
mod process;
mod served;
mod setup;
mod start;
mod test;
mod tidy;
mod tools;
mod tree;

use std::process::ExitCode;

use anyhow::Result;

/// One command of `cargo xtask`.
struct Command {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

/// Every command, in the order of the help text.
const COMMANDS: &[Command] = &[
    Command {
        name: "start",
        usage: "start [--keep] [--check] [--listen ADDRESS]",
        about: "build the binary and take the tour: answers of models in five formats, a whole run; real files, a real local server; then a daemon stays for you to try (--check ends before)",
        run: start::run,
    },
    Command {
        name: "test",
        usage: "test [--unit] [-- RUNNER ARGS]",
        about: "set up what the tests need, run all of them, the house checks, and the tour once; --unit: only the tests inside the crates, which need nothing installed",
        run: test::run,
    },
    Command {
        name: "tidy",
        usage: "tidy [--quick]",
        about: "the house checks: crate edges, sources, circles of files, links, formatting, spelling, dependencies, licenses, clippy, rustdoc, the site, generated pages",
        run: tidy::run,
    },
    Command {
        name: "check",
        usage: "check",
        about: "compile everything, tests included, with the versions of Cargo.lock",
        run: check::run,
    },
    Command {
        name: "site",
        usage: "site",
        about: "build the documentation site with mdBook",
        run: tidy::site,
    },
    Command {
        name: "dist",
        usage: "dist",
        about: "the archive of a release for this platform, with its checksum",
        run: dist::run,
    },
    Command {
        name: "gen",
        usage: "gen [--check]",
        about: "write the generated pages under docs/ from the binary; --check only compares",
        run: gen_docs::run,
    },
    Command {
        name: "bench",
        usage: "bench [ARGS]",
        about: "the benchmarks, in their own profile; arguments go to the benchmark program",
        run: bench::run,
    },
    Command {
        name: "crash",
        usage: "crash [--rounds N] [--random N] [--seed S] [--json] [--power-cuts N | --anomalies | --daemons [N] [--calls N]]",
        about: "kill -9 at every failpoint and at random, power cuts, failing disks, several daemons on one Postgres; what was promised is compared with what is left",
        run: crash::run,
    },
    Command {
        name: "api-fuzz",
        usage: "api-fuzz [SCHEMATHESIS ARGS]",
        about: "requests of every shape to a daemon of the built binary; its answers are compared with its OpenAPI document",
        run: api_fuzz::run,
    },
    Command {
        name: "clients",
        usage: "clients [--write]",
        about: "the example clients: types of the OpenAPI document, type checkers, a run of each against a daemon; --write makes the types anew",
        run: clients::run,
    },
    Command {
        name: "page",
        usage: "page [--check | --browser]",
        about: "build the page of the daemon from ui/ into the crate that embeds it; --check only compares, --browser tests it in Chromium against the built binary",
        run: page::run,
    },
    Command {
        name: "mcp-conformance",
        usage: "mcp-conformance",
        about: "the official conformance suite of MCP, against our server and our client in both revisions; every required scenario has to pass",
        run: mcp_conformance::run,
    },
    Command {
        name: "mcp-servers",
        usage: "mcp-servers",
        about: "twelve well-known MCP servers from npm and PyPI: each is added with one command, started, and some are called; what cannot be reached is named as skipped",
        run: mcp_servers::run,
    },
    Command {
        name: "eval-find",
        usage: "eval-find [--data FILE] [--split NAME] [--run FILE] [--model FOLDER] [--speed]",
        about: "how good find_tools is: recall and nDCG over labelled queries, on the full data where it lies beside the project, else on a small set of our own; --speed takes the times too",
        run: eval_find::run,
    },
    Command {
        name: "fuzz",
        usage: "fuzz [TARGET].. [--seconds 60] [--list]",
        about: "the fuzz targets, on the stable compiler; all of them unless some are named",
        run: fuzz::run,
    },
    Command {
        name: "miri",
        usage: "miri [--required]",
        about: "the unsafe code of the sandbox, and parsers, in Miri, where a nightly toolchain has it; --required: it fails where none has",
        run: miri::run,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Usage(text)) => {
            eprintln!("xtask: {text}\n\n{}", help());
            ExitCode::from(2)
        }
        Err(Stop::Failed(error)) => {
            eprintln!("\nxtask {}: {error:#}", args.first().map_or("", String::as_str));
            ExitCode::FAILURE
        }
    }
}

/// Why a command line was not carried out.
enum Stop {
    /// It means nothing.
    Usage(String),
    /// The command failed.
    Failed(anyhow::Error),
}

fn dispatch(args: &[String]) -> Result<(), Stop> {
    match args.split_first() {
        None => Err(Stop::Usage("which command?".to_owned())),
        Some((first, _)) if ["help", "--help", "-h"].contains(&first.as_str()) => {
            println!("{}", help());
            Ok(())
        }
        Some((first, rest)) => {
            let command =
                find(first).ok_or_else(|| Stop::Usage(format!("no command `{first}`")))?;
            if rest.iter().take_while(|a| *a != "--").any(|a| a == "--help" || a == "-h") {
                println!("cargo xtask {}\n\n{}", command.usage, command.about);
                return Ok(());
            }
            (command.run)(rest).map_err(Stop::Failed)
        }
    }
}

fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

fn help() -> String {
    let mut out =
        String::from("The commands of the Toolcrib workspace.\n\nUsage: cargo xtask COMMAND\n\n");
    let width = COMMANDS.iter().map(|c| c.usage.len()).max().unwrap_or(0);
    for command in COMMANDS {
        out.push_str(&format!("  {:width$}  {}\n", command.usage, command.about));
    }
    out.push_str(
        "\nBuilds go to the cache folder ($XDG_CACHE_HOME or ~/.cache, then toolcrib/target) unless CARGO_TARGET_DIR says otherwise.",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn every_command_is_found_and_in_the_help() {
        for name in [
            "start",
            "test",
            "tidy",
            "gen",
            "bench",
            "crash",
            "api-fuzz",
            "clients",
            "page",
            "mcp-conformance",
            "mcp-servers",
            "eval-find",
            "fuzz",
        ] {
            assert_eq!(find(name).unwrap().name, name);
            assert!(help().contains(&format!("\n  {name} ")), "{name} is not in the help");
            assert!(dispatch(&args(&format!("{name} --help"))).is_ok());
        }
    }

    #[test]
    fn unknown_commands_are_usage_errors() {
        for words in ["", "tidyy", "--verbose"] {
            assert!(matches!(dispatch(&args(words)), Err(Stop::Usage(_))), "{words:?}");
        }
    }
}
