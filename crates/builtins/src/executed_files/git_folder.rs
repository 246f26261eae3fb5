//! Folders that git takes for a repository, whatever they are called.

use std::fs;
use std::path::Path;

/// Entries of a repository that decide which configuration and hooks are in effect, or whether the
/// folder is a repository.
const ENTRIES: [&str; 7] =
    ["head", "config", "config.worktree", "commondir", "hooks", "objects", "refs"];

/// Whether git takes a folder for a repository: `is_git_directory` in its setup.c asks for `HEAD`,
/// and for `objects` and `refs` there or where `commondir` leads.
pub(super) fn is_git_folder(folder: &Path) -> bool {
    is_git_folder_with(folder, "")
}

/// The same as if this entry existed.
fn is_git_folder_with(folder: &Path, name: &str) -> bool {
    let has = |entry: &str| {
        entry.eq_ignore_ascii_case(name) || fs::symlink_metadata(folder.join(entry)).is_ok()
    };
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// What a path means for the repository in its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitEntry {
    /// Its configuration or one of its hooks.
    Executed,
    /// It makes the folder a repository, or is another of its records.
    Record,
}

/// Whether a path is, or would be, an entry of a repository without a `.git` folder (a bare one, or
/// the target of a `.git` file).
pub(super) fn entry_of_git_folder(path: &Path) -> Option<GitEntry> {
    let mut below = path;
    // A hook is one folder deeper, its own folders not counted.
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
