//! Reads a git configuration that a model's program wrote, and finds settings that could make git
//! execute a command.
//!
//! Only settings that are known to be harmless pass. Every other line is suspicious, including
//! lines that this reader does not understand, because git may parse them differently.

use std::collections::BTreeSet;

/// Settings that cannot contain a command, by section; subsections do not matter.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "worktree",
            "autocrlf",
            "eol",
            "safecrlf",
            "quotepath",
            "longpaths",
            "abbrev",
            "sharedrepository",
            "sparsecheckout",
            "sparsecheckoutcone",
            "compression",
        ],
    ),
    (
        "extensions",
        &[
            "worktreeconfig",
            "objectformat",
            "partialclone",
            "preciousobjects",
            "refstorage",
            "relativeworktrees",
        ],
    ),
    ("init", &["defaultbranch"]),
    ("user", &["name", "email"]),
    ("author", &["name", "email"]),
    ("committer", &["name", "email"]),
    (
        "remote",
        &["url", "pushurl", "fetch", "tagopt", "mirror", "prune", "promisor", "partialclonefilter"],
    ),
    ("branch", &["remote", "merge", "rebase", "pushremote", "description", "autosetuprebase"]),
    ("submodule", &["active", "url", "branch", "ignore", "shallow"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote", "followtags"]),
    ("fetch", &["prune", "prunetags", "parallel"]),
    ("merge", &["ff", "conflictstyle", "renames"]),
    ("rebase", &["autostash", "autosquash", "updaterefs"]),
    ("gc", &["auto"]),
    ("maintenance", &["auto", "strategy"]),
    ("diff", &["renames", "algorithm", "colormoved", "mnemonicprefix"]),
    ("color", &["ui"]),
    ("status", &["short", "branch", "showuntrackedfiles"]),
    ("commit", &["verbose"]),
    ("rerere", &["enabled", "autoupdate"]),
    ("advice", &["detachedhead"]),
    ("lfs", &["repositoryformatversion", "access"]),
];

/// Returns the lines of a configuration that are not known to be harmless.
pub(super) fn suspicious_lines(text: &[u8]) -> BTreeSet<String> {
    let Ok(text) = std::str::from_utf8(text) else {
        return BTreeSet::from(["(bytes that are no text)".to_owned()]);
    };
    let mut section = "";
    let mut suspicious = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = section_name(line) {
            section = name;
        } else if !is_harmless(section, line) {
            suspicious.insert(format!("[{section}] {line}"));
        }
    }
    suspicious
}

/// Returns the name from a line that is only a section header: `[core]`, `[remote "origin"]`.
fn section_name(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('[')?.strip_suffix(']')?;
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let (name, subsection) = match inside.split_once(' ') {
        Some((name, rest)) => (name, Some(rest.strip_prefix('"')?.strip_suffix('"')?)),
        None => (inside, None),
    };
    let is_plain = subsection.is_none_or(|text| !text.contains(['"', '\\', '[', ']']));
    (is_name(name) && is_plain).then_some(name)
}

fn is_harmless(section: &str, line: &str) -> bool {
    let (key, value) = line.split_once('=').unwrap_or((line, ""));
    let (section, key) = (section.to_ascii_lowercase(), key.trim().to_ascii_lowercase());
    // A value may continue on the next line or contain its end in quotes.
    let is_plain = !value.contains(['\\', '"', '\'']);
    // The `ext::` transport runs a command.
    let is_command = value.to_ascii_lowercase().contains("ext::");
    let known = HARMLESS.iter().find(|(name, _)| *name == section);
    is_plain && !is_command && known.is_some_and(|(_, keys)| keys.contains(&key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, is_harmless: bool) {
        let found = suspicious_lines(text.as_bytes());
        assert_eq!(found.is_empty(), is_harmless, "{text}: {found:?}");
    }

    #[test]
    fn what_git_writes_itself_is_harmless() {
        check("", true);
        check(
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n[remote \"origin\"]\n\turl = https://example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = A B\n\temail = a@example.com\n",
            true,
        );
        check("# comment\n; other\n[submodule \"a/b.c\"]\n\turl = ../b\n\tactive = true\n", true);
    }

    #[test]
    fn everything_else_is_suspicious() {
        for text in [
            "[core]\n\tfsmonitor = evil\n",
            "[core] fsmonitor = evil\n",
            "[CORE]\n\tFsMonitor = evil\n",
            "[core]\n\thooksPath = x\n",
            "[core]\nbare = false\\\n\n",
            "[core \"x\"]\n\tpager = evil\n",
            "[include]\n\tpath = other\n",
            "[includeIf \"gitdir:/\"]\n\tpath = other\n",
            "[alias]\n\tst = !evil\n",
            "[filter \"x\"]\n\tclean = evil\n",
            "[diff]\n\texternal = evil\n",
            "[submodule \"x\"]\n\tupdate = !evil\n",
            "[remote \"x\"]\n\turl = ext::sh -c evil\n",
            "[remote \"x\"]\n\tuploadpack = evil\n",
            "[core.x]\n\tbare = 1\n",
            "fsmonitor = evil\n",
            "[core]\n\tbare = \"x\n\tfsmonitor = evil\"\n",
            "[core\n]\n",
        ] {
            check(text, false);
        }
        assert!(!suspicious_lines(b"[core]\n\xff").is_empty());
    }
}
