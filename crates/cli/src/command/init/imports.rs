//! What other programs on this machine have that can be taken over: MCP servers and rules.

use std::env;
use std::path::{Path, PathBuf};

use crate::terminal;

/// Files of MCP servers, under the home folder.
const SERVER_FILES: [(&str, &str); 6] = [
    ("Claude Code", ".claude.json"),
    ("Claude Desktop", ".config/Claude/claude_desktop_config.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("Gemini CLI", ".gemini/settings.json"),
    ("Codex", ".codex/config.toml"),
    ("goose", ".config/goose/config.yaml"),
];

/// Files of rules, under the home folder.
const RULE_FILES: [(&str, &str); 2] =
    [("Claude Code", ".claude/settings.json"), ("Codex", ".codex/rules/default.rules")];

/// Something to take over.
pub(super) struct Offer {
    /// What is there, for people.
    pub(super) what: String,
    /// The command that takes it over, for a shell.
    pub(super) command: String,
}

/// What is there of other programs. Nothing is read here; without its `--write`, each command only
/// shows what it would take.
pub(super) fn offers() -> Vec<Offer> {
    let Some(home) = env::home_dir() else { return Vec::new() };
    let servers = offers_of(&home, &SERVER_FILES, "MCP servers", "mcp import");
    servers.chain(offers_of(&home, &RULE_FILES, "rules", "rules import")).collect()
}

fn offers_of<'a>(
    home: &'a Path,
    files: &'a [(&'a str, &'a str)],
    what: &'a str,
    command: &'a str,
) -> impl Iterator<Item = Offer> + 'a {
    let there = files.iter().filter(|(_, file)| home.join(file).is_file());
    there.map(move |(program, file)| {
        let path: PathBuf = home.join(file);
        Offer {
            what: format!("{program} may have {what}"),
            command: format!(
                "toolcrib {command} {} --write",
                terminal::quote_for_shell(&path.display().to_string())
            ),
        }
    })
}
