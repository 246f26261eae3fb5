//! Detects folders that git treats as a repository, independent of their names.

use std::fs;
use std::path::Path;

/// Entries that determine the active configuration and hooks of a repository, or make a folder a
/// repository.
const ENTRIES: [&str; 7] =
    ["head", "config", "config.worktree", "commondir", "hooks", "objects", "refs"];

/// Returns whether git treats a folder as a repository: `is_git_directory` in git's setup.c
/// requires `HEAD`, and `objects` and `refs` in the folder or in the target of `commondir`.
pub(super) fn is_git_folder(folder: &Path) -> bool {
    is_git_folder_with(folder, "")
}

/// Returns the same, as if an entry of this name existed.
fn is_git_folder_with(folder: &Path, name: &str) -> bool {
    let has = |entry: &str| {
        entry.eq_ignore_ascii_case(name) || fs::symlink_metadata(folder.join(entry)).is_ok()
    };
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// The meaning of a path for the repository in its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitEntry {
    /// The configuration or a hook.
    Executed,
    /// An entry that makes the folder a repository, or another of its records.
    Record,
}

/// Classifies a path that is, or would be, an entry of a repository without a `.git` folder: a bare
/// repository, or the target of a `.git` file.
pub(super) fn entry_of_git_folder(path: &Path) -> Option<GitEntry> {
    let mut below = path;
    // A hook is below the entry `hooks`, so up to two more folders are examined.
    for (depth, folder) in path.ancestors().skip(1).take(3).enumerate() {
        let name = below.file_name()?.to_str()?.to_ascii_lowercase();
        below = folder;
        if !ENTRIES.contains(&name.as_str()) || !is_git_folder_with(folder, &name) {
            continue;
        }
        return match (name.as_str(), depth) {
            ("config" | "config.worktree", 0) => Some(GitEntry::Executed),
            ("hooks", 1..) => Some(GitEntry::Executed),
            (_, 0) => Some(GitEntry::Record),
            _ => None,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_bare_repository_are_recognized_in_any_order() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        let check = |path: &str, expected: Option<GitEntry>| {
            assert_eq!(entry_of_git_folder(&at(path)), expected, "{path}");
        };
        for path in ["config", "HEAD", "commondir", "objects", "hooks/pre-commit"] {
            check(path, None);
        }
        fs::create_dir_all(at("objects")).unwrap();
        fs::create_dir_all(at("refs")).unwrap();
        check("config", None);
        check("HEAD", Some(GitEntry::Record));
        fs::write(at("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert!(is_git_folder(dir.path()));
        check("config", Some(GitEntry::Executed));
        check("hooks/pre-commit", Some(GitEntry::Executed));
        check("hooks/a/b", Some(GitEntry::Executed));
        check("commondir", Some(GitEntry::Record));
        check("notes.txt", None);
        check("src/config", None);
        fs::remove_dir(at("objects")).unwrap();
        check("config", None);
        check("commondir", Some(GitEntry::Record));
        check("objects", Some(GitEntry::Record));
    }
}
