//! Workspace instructions: the nearest `AGENTS.md`.

use std::path::{Component, Path, PathBuf};

use super::bounded_file;
use super::location::Problem;

/// The file's name (agents.md).
pub const FILE: &str = "AGENTS.md";
/// Maximum number of bytes for the model; the rest is truncated with a note. About 8,000 tokens:
/// enough for a page of conventions, not for a manual.
pub const MAX_BYTES: usize = 32 * 1024;

/// Instructions of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    /// The file, relative to the workspace, such as `AGENTS.md` or `crates/core/AGENTS.md`.
    pub path: String,
    /// Its text, without surrounding blank lines; ends with a note if it was truncated.
    pub text: String,
    /// Whether it was truncated.
    pub cut: bool,
}

/// Reads the nearest `AGENTS.md`, from `inside` (a folder relative to the workspace) up to the
/// root. `None` if there is none, or if it is blank.
///
/// # Errors
/// A [`Problem`] if `inside` leaves the workspace, or if the nearest file cannot be read, is not
/// text, or is a link out of the workspace.
pub fn read(root: &Path, inside: Option<&Path>) -> Result<Option<Instructions>, Problem> {
    let inside = inside.unwrap_or(Path::new(""));
    let mut nearest = PathBuf::new();
    for part in inside.components() {
        match part {
            Component::Normal(name) => nearest.push(name),
            Component::CurDir => {}
            _ => return Err(Problem::new(inside, "is not a folder inside the workspace")),
        }
    }
    for folder in nearest.ancestors() {
        let relative = folder.join(FILE);
        let path = root.join(&relative);
        // Without following links, so that a broken link is reported instead of skipped.
        if path.symlink_metadata().is_err() {
            continue;
        }
        let text = bounded_file::read(root, &path).map_err(|fault| Problem::new(&path, fault))?;
        return Ok(bounded(&relative.display().to_string(), text.trim()));
    }
    Ok(None)
}

fn bounded(path: &str, text: &str) -> Option<Instructions> {
    if text.is_empty() {
        return None;
    }
    let path = path.to_owned();
    if text.len() <= MAX_BYTES {
        return Some(Instructions { path, text: text.to_owned(), cut: false });
    }
    let end = text.floor_char_boundary(MAX_BYTES);
    // Truncate at a line break, if there is one.
    let end = text.get(..end).and_then(|head| head.rfind('\n')).unwrap_or(end);
    let head = text.get(..end).unwrap_or_default();
    let text = format!(
        "{head}\n[{FILE} is cut here: the first {end} of {} bytes are shown. Read the file for the rest.]",
        text.len()
    );
    Some(Instructions { path, text, cut: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn check(root: &Path, inside: Option<&str>, expected: Option<(&str, &str)>) {
        let read = read(root, inside.map(Path::new)).unwrap();
        let read = read.as_ref().map(|found| (found.path.as_str(), found.text.as_str()));
        assert_eq!(read, expected, "{inside:?}");
    }

    #[test]
    fn the_nearest_one_counts() {
        let root = tempfile::tempdir().unwrap();
        check(root.path(), None, None);
        fs::create_dir_all(root.path().join("a/b/c")).unwrap();
        fs::write(root.path().join("AGENTS.md"), "\u{feff}top\n\n").unwrap();
        fs::write(root.path().join("a/b/AGENTS.md"), "deep").unwrap();
        check(root.path(), None, Some(("AGENTS.md", "top")));
        check(root.path(), Some("."), Some(("AGENTS.md", "top")));
        check(root.path(), Some("a"), Some(("AGENTS.md", "top")));
        check(root.path(), Some("a/b"), Some(("a/b/AGENTS.md", "deep")));
        check(root.path(), Some("a/b/c"), Some(("a/b/AGENTS.md", "deep")));
        fs::write(root.path().join("a/b/AGENTS.md"), " \n").unwrap();
        check(root.path(), Some("a/b"), None);
        let outside = read(root.path(), Some(Path::new("../x"))).unwrap_err();
        assert_eq!(outside.to_string(), "../x: is not a folder inside the workspace");
    }

    #[test]
    fn a_long_one_is_cut_at_a_line() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(FILE), "é line\n".repeat(5000)).unwrap();
        let found = read(root.path(), None).unwrap().unwrap();
        assert!(found.cut);
        let note = "\n[AGENTS.md is cut here: the first 32767 of 39999 bytes are shown. Read the file for the rest.]";
        assert_eq!(found.text.strip_suffix(note).unwrap().len(), 32_767);
        fs::write(root.path().join(FILE), "é".repeat(MAX_BYTES)).unwrap();
        assert!(read(root.path(), None).unwrap().unwrap().cut);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_inside() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let link = root.path().join(FILE);
        std::os::unix::fs::symlink(outside.path().join("secret"), &link).unwrap();
        let problem = read(root.path(), None).unwrap_err();
        assert_eq!(problem.message, "is a link that leads out of its folder");
        fs::remove_file(&link).unwrap();
        fs::write(root.path().join("CLAUDE.md"), "inside").unwrap();
        std::os::unix::fs::symlink("CLAUDE.md", &link).unwrap();
        check(root.path(), None, Some((FILE, "inside")));
    }
}
