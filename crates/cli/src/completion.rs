//! Completion in shells. The script of `toolcrib util completions` runs this program with
//! [`VARIABLE`] set; it prints the commands, options and values that can follow.

use std::process::{Command as Process, Stdio};

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::CompleteEnv;
use serde_json::Value;

use crate::clap_args::command_groups;

/// Environment variable with the name of the requesting shell.
pub(crate) const VARIABLE: &str = "TOOLCRIB_COMPLETE";

/// A command of this program that lists the possible values of an argument.
#[derive(Clone, Copy)]
struct Listing {
    /// The command; with `--json` it prints an array of objects.
    command: &'static [&'static str],
    /// The member of each object that is the value.
    member: &'static str,
}

const TOOLS: Listing = Listing { command: &["tool", "list"], member: "id" };
const AGENTS: Listing = Listing { command: &["agent", "list"], member: "name" };
const APPROVALS: Listing = Listing { command: &["approve", "list"], member: "id" };
const RUNS: Listing = Listing { command: &["resume", "--list"], member: "run" };
const CALLS: Listing = Listing { command: &["history"], member: "call" };
const CONVERSATIONS: Listing = Listing { command: &["conversation", "list"], member: "id" };
const GRANTS: Listing = Listing { command: &["grant", "list"], member: "id" };
const SERVERS: Listing = Listing { command: &["mcp", "list"], member: "name" };
const SECRETS: Listing = Listing { command: &["secret", "list"], member: "name" };
const CHAINS: Listing = Listing { command: &["chain", "list"], member: "name" };
const KITS: Listing = Listing { command: &["kit", "list"], member: "name" };
const ARTIFACTS: Listing = Listing { command: &["artifact", "list"], member: "id" };

/// The kind of the first positional argument of each command. An entry applies to the command and
/// its subcommands.
const POSITIONALS: [(&str, Listing); 25] = [
    ("tool show", TOOLS),
    ("tool call", TOOLS),
    ("tool why", TOOLS),
    ("tool enable", TOOLS),
    ("tool disable", TOOLS),
    ("tool ask", TOOLS),
    ("tool spec", TOOLS),
    ("agent show", AGENTS),
    ("agent tools", AGENTS),
    ("approve", APPROVALS),
    ("resume", RUNS),
    ("explain", CALLS),
    ("audit show", CALLS),
    ("conversation show", CONVERSATIONS),
    ("conversation delete", CONVERSATIONS),
    ("grant", GRANTS),
    ("mcp test", SERVERS),
    ("mcp review", SERVERS),
    ("mcp auth", SERVERS),
    ("mcp rm", SERVERS),
    ("mcp logs", SERVERS),
    ("secret rm", SECRETS),
    ("chain rm", CHAINS),
    ("kit show", KITS),
    ("artifact", ARTIFACTS),
];

/// The kind of options' values, on every command that has them.
const OPTIONS: [(&str, Listing); 4] =
    [("agent", AGENTS), ("conversation", CONVERSATIONS), ("tool", TOOLS), ("run", RUNS)];

/// Answers the request of a shell and ends the process; returns at once if there is none.
pub(crate) fn answer_shell() {
    CompleteEnv::with_factory(|| with_values(command_groups::command(), ""))
        .var(VARIABLE)
        .complete();
}

/// Adds the sources of values to the command line.
fn with_values(command: Command, path: &str) -> Command {
    let first = command.get_positionals().next().map(|arg| arg.get_id().clone());
    let listed = POSITIONALS.iter().find(|(key, _)| {
        path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    });
    let command = command.mut_args(|arg| {
        let listing = match arg.get_long() {
            Some(name) => OPTIONS.iter().find(|(option, _)| *option == name),
            None => listed.filter(|_| first.as_ref() == Some(arg.get_id())),
        };
        match listing {
            Some((_, listing)) => completed(arg, *listing),
            None => arg,
        }
    });
    command.mut_subcommands(|child| {
        let below = format!("{path} {}", child.get_name());
        with_values(child, below.trim_start())
    })
}

fn completed(arg: Arg, listing: Listing) -> Arg {
    // Switches and options with a fixed choice are completed automatically.
    if !arg.get_action().takes_values() || !arg.get_possible_values().is_empty() {
        return arg;
    }
    arg.add(ArgValueCandidates::new(move || candidates(listing)))
}

/// Returns the existing values. A separate process runs the command itself, so that a shell shows
/// what the person would see, and no warning appears in the line that they type.
fn candidates(listing: Listing) -> Vec<CompletionCandidate> {
    let Ok(program) = std::env::current_exe() else { return Vec::new() };
    let mut process = Process::new(program);
    process.args(listing.command).arg("--json").env_remove(VARIABLE);
    let Ok(ended) = process.stdin(Stdio::null()).stderr(Stdio::null()).output() else {
        return Vec::new();
    };
    let rows: Vec<Value> = serde_json::from_slice(&ended.stdout).unwrap_or_default();
    let value = |row: &Value| row.get(listing.member)?.as_str().map(CompletionCandidate::new);
    rows.iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects the existing commands, by their paths.
    fn paths(command: &Command, path: &str, found: &mut Vec<String>) {
        for child in command.get_subcommands() {
            let below = format!("{path} {}", child.get_name()).trim_start().to_owned();
            paths(child, &below, found);
            found.push(below);
        }
    }

    #[test]
    fn every_row_names_a_command_that_exists() {
        let command = command_groups::command();
        let mut found = Vec::new();
        paths(&command, "", &mut found);
        for (key, listing) in POSITIONALS {
            assert!(found.iter().any(|path| path == key), "{key}");
            let name = listing.command.join(" ").replace(" --list", "");
            assert!(found.contains(&name), "{name}");
        }
    }
}
