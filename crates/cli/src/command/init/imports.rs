//! Data of other programs on this machine that can be imported: MCP servers and rules.

use std::env;
use std::path::{Path, PathBuf};

use crate::terminal;

/// Files of MCP servers, in the home folder.
const SERVER_FILES: [(&str, &str); 6] = [
    ("Claude Code", ".claude.json"),
    ("Claude Desktop", ".config/Claude/claude_desktop_config.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("Gemini CLI", ".gemini/settings.json"),
    ("Codex", ".codex/config.toml"),
    ("goose", ".config/goose/config.yaml"),
];

/// Files of rules, in the home folder.
const RULE_FILES: [(&str, &str); 2] =
    [("Claude Code", ".claude/settings.json"), ("Codex", ".codex/rules/default.rules")];

/// A possible import.
pub(super) struct Offer {
    /// Description for people.
    pub(super) what: String,
    /// The shell command that imports it.
    pub(super) command: String,
}

/// Returns the possible imports from other programs. No file is read here; without `--write`, each
/// command only shows the changes.
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
