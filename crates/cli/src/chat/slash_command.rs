//! Parses a typed line: a command of the chat, or a message.

use std::path::PathBuf;

use toolcrib_core::similar_names::similar_names;

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    Tools,
    Enable(String),
    Disable(String),
    /// Without a name, lists the agents.
    Agent(Option<String>),
    /// Without a name, shows the model that answers.
    Model(Option<String>),
    Stop,
    /// Without a number, shows the newest call.
    Expand(Option<usize>),
    Explain(Option<usize>),
    Workspace(Option<PathBuf>),
    New,
    Usage,
    Help,
    Exit,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    Nothing,
    Message(String),
    Command(Command),
    /// An invalid command, with the reason.
    Wrong(String),
}

/// The commands with their arguments and descriptions.
pub(crate) const COMMANDS: [(&str, &str, &str); 13] = [
    ("tools", "", "the tools of this agent, and why others are not among them"),
    ("enable", "TOOL", "switch a tool on, here and in every other process"),
    ("disable", "TOOL", "switch a tool off, here and in every other process"),
    ("agent", "[NAME]", "let another agent answer; the conversation stays"),
    ("model", "[MODEL]", "let another model answer: PROVIDER/MODEL or scripted:FILE"),
    ("stop", "", "stop the turn (as Ctrl-C does)"),
    ("expand", "[N]", "arguments and result of call N, or of the newest"),
    ("explain", "[N]", "what each stage of the pipeline decided about call N"),
    ("workspace", "[DIR]", "go on in another folder, with its tools, agents and skills"),
    ("new", "", "begin a new conversation"),
    ("usage", "", "tokens and cost so far"),
    ("help", "", "this list"),
    ("exit", "", "leave (as Ctrl-D does)"),
];

/// Parses a line; `skills` are the names that start a message when they follow a slash.
pub(crate) fn parse(line: &str, skills: &[String]) -> Line {
    let text = line.trim();
    let Some(words) = text.strip_prefix('/') else {
        return if text.is_empty() {
            Line::Nothing
        } else {
            Line::Message(line.trim_end().to_owned())
        };
    };
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rest = Some(rest.trim()).filter(|rest| !rest.is_empty());
    let owned = || rest.map(str::to_owned);
    match (name, rest) {
        ("agent", _) => Line::Command(Command::Agent(owned())),
        ("model", _) => Line::Command(Command::Model(owned())),
        ("workspace", _) => Line::Command(Command::Workspace(rest.map(path))),
        ("expand", _) => numbered(name, rest, Command::Expand),
        ("explain", _) => numbered(name, rest, Command::Explain),
        ("enable" | "disable", None) => {
            Line::Wrong(format!("/{name} takes the name of a tool, such as /{name} web_search"))
        }
        ("enable", Some(tool)) => Line::Command(Command::Enable(tool.to_owned())),
        ("disable", Some(tool)) => Line::Command(Command::Disable(tool.to_owned())),
        ("tools", None) => Line::Command(Command::Tools),
        ("stop", None) => Line::Command(Command::Stop),
        ("new", None) => Line::Command(Command::New),
        ("usage", None) => Line::Command(Command::Usage),
        ("help" | "?", None) => Line::Command(Command::Help),
        ("exit" | "quit", None) => Line::Command(Command::Exit),
        _ if skills.iter().any(|skill| skill == name) => Line::Message(text.to_owned()),
        // A path at the start of a message is not a command.
        _ if name.contains('/') => Line::Message(text.to_owned()),
        _ if COMMANDS.iter().any(|(known, ..)| *known == name) => {
            Line::Wrong(format!("/{name} takes nothing behind it"))
        }
        _ => Line::Wrong(unknown(name, skills)),
    }
}

fn path(text: &str) -> PathBuf {
    let home = text.strip_prefix("~/").and_then(|rest| Some(std::env::home_dir()?.join(rest)));
    home.unwrap_or_else(|| PathBuf::from(text))
}

fn numbered(name: &str, rest: Option<&str>, command: fn(Option<usize>) -> Command) -> Line {
    match rest.map(|rest| rest.trim_start_matches('#').parse::<usize>()) {
        None => Line::Command(command(None)),
        Some(Ok(number)) if number > 0 => Line::Command(command(Some(number))),
        Some(_) => Line::Wrong(format!("/{name} takes the number of a call, such as /{name} 3")),
    }
}

fn unknown(name: &str, skills: &[String]) -> String {
    let known = COMMANDS.iter().map(|(known, ..)| *known).chain(skills.iter().map(String::as_str));
    match similar_names(name, known).first() {
        Some(near) => format!("there is no command or skill /{name}, did you mean /{near}?"),
        None => format!("there is no command or skill /{name}; /help shows them"),
    }
}

/// Renders the help on commands.
pub(crate) fn help(skills: &[String]) -> String {
    let mut text = String::new();
    for (name, takes, does) in COMMANDS {
        text += &format!("  {:<20} {does}\n", format!("/{name} {takes}"));
    }
    if !skills.is_empty() {
        let names: Vec<String> = skills.iter().map(|skill| format!("/{skill}")).collect();
        text += &format!("  skills, for one turn: {}\n", names.join(" "));
    }
    text += "  A backslash at the end of a line continues it. Ctrl-C stops the turn, once more leaves.\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Line) {
        assert_eq!(parse(line, &["notes".to_owned()]), expected, "{line:?}");
    }

    #[test]
    fn lines_are_commands_or_messages() {
        check("  ", Line::Nothing);
        check("hi there ", Line::Message("hi there".into()));
        check(" /tools ", Line::Command(Command::Tools));
        check("/disable fetch_url", Line::Command(Command::Disable("fetch_url".into())));
        check(
            "/enable",
            Line::Wrong("/enable takes the name of a tool, such as /enable web_search".into()),
        );
        check("/agent", Line::Command(Command::Agent(None)));
        check(
            "/agent  General Assistant",
            Line::Command(Command::Agent(Some("General Assistant".into()))),
        );
        check("/expand", Line::Command(Command::Expand(None)));
        check("/expand #12", Line::Command(Command::Expand(Some(12))));
        check(
            "/explain x",
            Line::Wrong("/explain takes the number of a call, such as /explain 3".into()),
        );
        check(
            "/expand 0",
            Line::Wrong("/expand takes the number of a call, such as /expand 3".into()),
        );
        check("/workspace ./a b", Line::Command(Command::Workspace(Some("./a b".into()))));
        check("/notes buy oats", Line::Message("/notes buy oats".into()));
        check("/etc/hosts is what?", Line::Message("/etc/hosts is what?".into()));
        check("/new one", Line::Wrong("/new takes nothing behind it".into()));
        check(
            "/toosl",
            Line::Wrong("there is no command or skill /toosl, did you mean /tools?".into()),
        );
        check(
            "/note x",
            Line::Wrong("there is no command or skill /note, did you mean /notes?".into()),
        );
        check(
            "/frobnicate",
            Line::Wrong("there is no command or skill /frobnicate; /help shows them".into()),
        );
    }

    #[test]
    fn the_help_names_every_command() {
        let help = help(&["notes".to_owned()]);
        assert!(COMMANDS.iter().all(|(name, ..)| help.contains(&format!("/{name}"))));
        assert!(help.contains("/notes"));
    }
}
