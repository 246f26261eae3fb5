//! The table of executed files: the program that executes each file, and the reaction to a change
//! by a tool.
//!
//! A file belongs in the table if a program executes it, or commands in it, although the person
//! only entered a folder, opened it or viewed it. Files that run because the person calls them
//! (`Makefile`, `package.json`, source code) are content.

use std::ffi::OsStr;
use std::path::Path;

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecutedFile {
    /// The last components of the path. `*` matches one component or a part of it, a final `**`
    /// everything below, and a middle `**` any number of folders. Case does not matter.
    pub pattern: &'static str,
    /// The program that executes the file.
    pub program: &'static str,
    /// When the program executes the file, as the end of a sentence: "git executes it …".
    pub when: &'static str,
    /// The reaction to a change by a file tool.
    pub on_change: OnChange,
}

/// The reaction to a change; see [`ExecutedFile::on_change`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnChange {
    /// The tool changes the file without approval: the row is an exception to a later row.
    Allow,
    /// The change always needs a person's approval.
    Ask,
    /// The change is refused: other programs make such changes, and people do not make them by
    /// hand.
    Refuse,
}

const fn row(
    pattern: &'static str,
    program: &'static str,
    when: &'static str,
    on_change: OnChange,
) -> ExecutedFile {
    ExecutedFile { pattern, program, when, on_change }
}

const GIT_COMMAND: &str = "at its next command in this repository, even `git status`";
const OPENED: &str = "when the folder is opened";
const ENTERED: &str = "when a shell enters the folder";
const STARTED: &str = "when it starts in this folder";
const COMMITTED: &str = "at the next commit";
const SHELL_STARTED: &str = "when a shell starts";

use OnChange::{Allow, Ask, Refuse};

/// All rows; the first one that matches a path applies.
pub const TABLE: &[ExecutedFile] = &[
    // A repository: `core.fsmonitor`, `core.pager`, aliases and filters are commands. People and
    // tools edit the commit messages and the list of ignored files, and git only reads them.
    row(".git/info/exclude", "git", "", Allow),
    row(".git/info/sparse-checkout", "git", "", Allow),
    row(".git/COMMIT_EDITMSG", "git", "", Allow),
    row(".git/MERGE_MSG", "git", "", Allow),
    row(".git/description", "git", "", Allow),
    row(".git/info/attributes", "git", GIT_COMMAND, Ask),
    row(".git/config", "git", GIT_COMMAND, Ask),
    row(".git/config.worktree", "git", GIT_COMMAND, Ask),
    row(".git/hooks/**", "git", "at its next commit, checkout or push", Ask),
    // Repositories of submodules, and configurations of worktrees.
    row(".git/modules/**/config", "git", GIT_COMMAND, Ask),
    row(".git/modules/**/hooks/**", "git", GIT_COMMAND, Ask),
    row(".git/worktrees/*/config.worktree", "git", GIT_COMMAND, Ask),
    // `commondir` and `gitdir` redirect git to another configuration; the other files are git's
    // records.
    row(".git/**", "git", GIT_COMMAND, Refuse),
    // A `.git` folder created by hand, or a `.git` file that points to one.
    row(".git", "git", GIT_COMMAND, Refuse),
    // Folders that projects name in `core.hooksPath`, and the settings of installed hooks.
    row(".husky/**", "git", COMMITTED, Ask),
    row(".githooks/**", "git", COMMITTED, Ask),
    row(".pre-commit-config.yaml", "pre-commit", COMMITTED, Ask),
    row("lefthook.yml", "lefthook", COMMITTED, Ask),
    row(".lefthook.yml", "lefthook", COMMITTED, Ask),
    row(".envrc", "direnv", ENTERED, Ask),
    row("mise.toml", "mise", ENTERED, Ask),
    row(".mise.toml", "mise", ENTERED, Ask),
    row(".mise/config.toml", "mise", ENTERED, Ask),
    row(".vscode/tasks.json", "Visual Studio Code", OPENED, Ask),
    row(".vscode/settings.json", "Visual Studio Code", OPENED, Ask),
    row("*.code-workspace", "Visual Studio Code", OPENED, Ask),
    row(".devcontainer.json", "Visual Studio Code", OPENED, Ask),
    row(".devcontainer/**", "Visual Studio Code", OPENED, Ask),
    row(".idea/**", "JetBrains IDEs", OPENED, Ask),
    row(".zed/**", "Zed", OPENED, Ask),
    row(".exrc", "Vim", STARTED, Ask),
    row(".nvimrc", "Neovim", STARTED, Ask),
    row(".nvim.lua", "Neovim", STARTED, Ask),
    row(".dir-locals.el", "Emacs", "when a file of the folder is opened", Ask),
    // Other agents start the servers and hooks that these files define.
    row(".mcp.json", "Claude Code", STARTED, Ask),
    row(".claude/settings.json", "Claude Code", STARTED, Ask),
    row(".claude/settings.local.json", "Claude Code", STARTED, Ask),
    row(".cursor/mcp.json", "Cursor", OPENED, Ask),
    row(".vscode/mcp.json", "Visual Studio Code", OPENED, Ask),
    row(".gemini/settings.json", "Gemini CLI", STARTED, Ask),
    row(".codex/config.toml", "Codex", STARTED, Ask),
    // For a workspace that is a home folder.
    row(".bashrc", "bash", SHELL_STARTED, Ask),
    row(".bash_profile", "bash", SHELL_STARTED, Ask),
    row(".bash_login", "bash", SHELL_STARTED, Ask),
    row(".bash_logout", "bash", "when a shell ends", Ask),
    row(".profile", "the login shell", SHELL_STARTED, Ask),
    row(".zshrc", "zsh", SHELL_STARTED, Ask),
    row(".zshenv", "zsh", SHELL_STARTED, Ask),
    row(".zprofile", "zsh", SHELL_STARTED, Ask),
    row(".zlogin", "zsh", SHELL_STARTED, Ask),
    row(".config/fish/**", "fish", SHELL_STARTED, Ask),
    row(".gitconfig", "git", "at its next command", Ask),
    row(".config/git/**", "git", "at its next command", Ask),
    row(".ssh/**", "ssh", "at the next connection", Ask),
    row(".config/autostart/**", "the desktop", "at the next login", Ask),
    row(".config/systemd/user/**", "systemd", "at the next login", Ask),
];

/// Paths of a root that sandboxed programs cannot change if they exist: those of the repository
/// that the person works in. Git itself writes them only for settings of branches and remotes. For
/// other folders, and for paths that do not exist yet, [the check](super::watch) after a program
/// applies.
pub(crate) const READ_ONLY: [&str; 3] = [".git/hooks", ".git/config", ".git/config.worktree"];

/// Returns the row for a path; `None` if no program executes the file on its own.
pub(super) fn find(path: &Path) -> Option<&'static ExecutedFile> {
    let names: Vec<String> =
        path.components().map(|name| name.as_os_str().to_string_lossy().to_lowercase()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    TABLE.iter().find(|row| {
        let pattern = row.pattern.to_lowercase();
        let pattern: Vec<&str> = pattern.split('/').collect();
        (0..names.len()).any(|at| names.get(at..).is_some_and(|end| matches(&pattern, end)))
    })
}

/// Returns whether a file of this name can be in the table although no component of its path begins
/// with a dot.
pub(super) fn has_plain_row(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_lowercase();
    let plain = TABLE.iter().filter(|row| !row.pattern.starts_with('.'));
    plain.into_iter().any(|row| matches_name(row.pattern, &name))
}

/// Returns whether the components match the complete pattern.
fn matches(pattern: &[&str], names: &[&str]) -> bool {
    match (pattern, names) {
        ([], []) => true,
        (["**"], names) => !names.is_empty(),
        (["**", rest @ ..], names) => {
            (0..=names.len()).any(|at| names.get(at..).is_some_and(|end| matches(rest, end)))
        }
        ([one, rest @ ..], [name, names @ ..]) => matches_name(one, name) && matches(rest, names),
        _ => false,
    }
}

/// Matches one component; a pattern component has at most one `*`.
fn matches_name(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_find_their_rows() {
        let check = |path: &str, expected: Option<OnChange>| {
            assert_eq!(find(Path::new(path)).map(|row| row.on_change), expected, "{path}");
        };
        for path in [
            ".git/config",
            "a/b/.git/config",
            "/w/.GIT/Config",
            ".git/config.worktree",
            ".git/hooks/pre-commit",
            ".git/hooks/a/b",
            ".git/modules/a/config",
            ".git/modules/a/modules/b/config",
            ".git/modules/a/hooks/post-checkout",
            ".git/worktrees/w/config.worktree",
            ".envrc",
            "sub/.envrc",
            ".vscode/tasks.json",
            "a.code-workspace",
            ".idea/workspace.xml",
            ".husky/_/husky.sh",
            ".ssh/config",
        ] {
            check(path, Some(Ask));
        }
        for path in [
            ".git",
            "sub/.git",
            ".git/commondir",
            ".git/HEAD",
            ".git/index",
            ".git/hooks",
            ".git/worktrees/w/commondir",
            ".git/worktrees/w/gitdir",
            ".git/modules/a/commondir",
            ".git/objects/aa/bb",
        ] {
            check(path, Some(Refuse));
        }
        for path in [".git/info/exclude", ".git/COMMIT_EDITMSG"] {
            check(path, Some(Allow));
        }
        for path in [
            "Makefile",
            "package.json",
            ".gitignore",
            ".gitattributes",
            ".github/workflows/ci.yml",
            ".vscode/launch.json",
            ".vscode/extensions.json",
            "git/config",
            "config",
            "x.git",
            "code-workspace",
            "src/main.rs",
            ".env",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn what_is_read_only_is_in_the_table() {
        for path in READ_ONLY {
            assert!(find(Path::new(path)).is_some(), "{path}");
        }
    }

    #[test]
    fn every_row_says_who_executes_it_and_when() {
        for row in TABLE {
            assert!(!row.program.is_empty() && !row.pattern.is_empty(), "{row:?}");
            assert_eq!(row.when.is_empty(), row.on_change == Allow, "{row:?}");
            // The walk examines only files that meet this condition.
            assert!(row.pattern.starts_with('.') || !row.pattern.contains('/'), "{row:?}");
        }
    }
}
