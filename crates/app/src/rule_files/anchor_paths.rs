//! Rebases path patterns when a rule moves to another file: patterns like `/path` are relative to
//! the folder of their file.
#![deny(clippy::indexing_slicing)]

use std::path::{Path, PathBuf, absolute};

/// Rule classes whose pattern is a path.
const PATH_CLASSES: [&str; 8] =
    ["Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep", "LS"];

/// Folders that contain the settings of their parent folder.
const SETTINGS_FOLDERS: [&str; 3] = [".toolcrib", ".claude", ".codex"];

/// Rewrites a rule of the file `from` for the file `to`, or for any file if `to` is `None`:
/// `Read(/keys)` becomes `Read(//where/it/was/keys)`.
pub(super) fn rebase_pattern(rule: &str, from: &Path, to: Option<&Path>) -> String {
    let parts = rule.split_once('(').filter(|(class, _)| PATH_CLASSES.contains(class));
    let Some((class, path)) =
        parts.filter(|(_, path)| path.starts_with('/') && !path.starts_with("//"))
    else {
        return rule.to_owned();
    };
    match (base(from), to.and_then(base)) {
        (Some(from), Some(to)) if from == to => rule.to_owned(),
        (Some(from), _) => {
            format!("{class}(/{}{path}", from.display().to_string().trim_end_matches('/'))
        }
        (None, _) => rule.to_owned(),
    }
}

/// Returns the folder to which `/path` is relative in a file.
fn base(file: &Path) -> Option<PathBuf> {
    let file = absolute(file).ok()?;
    let folder = file.parent()?;
    let of_settings =
        folder.file_name().is_some_and(|name| SETTINGS_FOLDERS.iter().any(|own| name == *own));
    if of_settings { folder.parent().map(Path::to_path_buf) } else { Some(folder.to_path_buf()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_at_its_file_stays_there() {
        for (rule, expected) in [
            ("Read(/keys/**)", "Read(//ws/keys/**)"),
            ("Edit(//etc/**)", "Edit(//etc/**)"),
            ("Read(./keys)", "Read(./keys)"),
            ("Bash(/bin/ls)", "Bash(/bin/ls)"),
            ("Read", "Read"),
        ] {
            assert_eq!(
                rebase_pattern(rule, Path::new("/ws/.claude/settings.json"), None),
                expected
            );
        }
        let of = |from, to| rebase_pattern("Read(/a)", Path::new(from), Some(Path::new(to)));
        assert_eq!(of("/ws/.claude/settings.json", "/ws/.toolcrib/rules.toml"), "Read(/a)");
        assert_eq!(of("/ws/.claude/settings.json", "/srv/rules.toml"), "Read(//ws/a)");
        assert_eq!(of("/settings.json", "/srv/rules.toml"), "Read(//a)");
    }
}
