//! The help of the whole program: first the commands that a new user needs, then all commands by
//! group.

use clap::{Command, CommandFactory as _};

use super::Cli;

/// The commands that a new user needs, in the order of use.
const FIRST: [(&str, &str); 5] = [
    ("toolcrib init", "choose a model, test it, write the configuration"),
    ("toolcrib run \"What is in this folder?\"", "run a task with tools"),
    ("toolcrib chat", "chat with a model that has tools"),
    ("toolcrib approve list", "list calls that wait for your decision"),
    ("toolcrib doctor", "find problems, and how to fix them"),
];

/// Every command that is not hidden, by purpose.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Run",
        &[
            "init",
            "run",
            "chat",
            "resume",
            "exec",
            "memory",
            "task",
            "heartbeat",
            "notification",
            "list",
            "document",
            "goal",
            "mail",
            "channel",
            "sms",
            "prompt",
        ],
    ),
    ("Decide", &["approve", "draft", "grant", "stop-tools", "start-tools"]),
    ("Govern", &["rules", "config", "trust", "secret", "sandbox", "net", "python"]),
    (
        "Tools",
        &["tool", "mcp", "app", "node", "agent", "skill", "kit", "chain", "args", "sanitize"],
    ),
    (
        "Look back",
        &[
            "history",
            "explain",
            "undo",
            "redo",
            "conversation",
            "artifact",
            "audit",
            "metrics",
            "usage",
        ],
    ),
    (
        "Operate",
        &[
            "serve", "status", "open", "stop", "daemon", "token", "doctor", "prove", "db",
            "backup", "restore", "util",
        ],
    ),
];

/// Number of columns of a name in the lists.
const NAME_WIDTH: usize = 14;

/// Builds the command line with its grouped help.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\nOptions:\n{{options}}{{after-help}}",
        sections(&command)
    );
    command.help_template(template)
}

fn sections(command: &Command) -> String {
    let mut text = "Start here:\n".to_owned();
    let width = FIRST.iter().map(|(typed, _)| typed.len()).max().unwrap_or_default();
    for (typed, about) in FIRST {
        text += &format!("  {typed:<width$}  {about}\n");
    }
    for (group, names) in GROUPS {
        text += &format!("\n{group}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text += &format!("  {name:<NAME_WIDTH$}{}\n", first_clause(&about));
        }
    }
    text + "\n  `toolcrib COMMAND --help` explains a command.\n"
}

/// Returns the description up to a colon or semicolon: `COMMAND --help` shows the rest.
fn first_clause(about: &str) -> &str {
    about.split([':', ';']).next().unwrap_or(about).trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_exactly_one_group() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        let mut all: Vec<&str> =
            shown.map(Command::get_name).filter(|name| *name != "help").collect();
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, all);
    }
}
