//! `AGENTS.md`: what the people of a workspace want agents to know. The nearest one counts.

use std::path::{Component, Path, PathBuf};

use super::file;
use super::place::Problem;

/// The file's name (agents.md).
pub const FILE: &str = "AGENTS.md";
/// Bytes that are given to the model; the rest is cut with a note. About 8,000 tokens: a convention page, not a manual.
pub const MAX_BYTES: usize = 32 * 1024;

/// The workspace's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    /// The file, relative to the workspace, such as `AGENTS.md` or `crates/core/AGENTS.md`.
    pub path: String,
    /// Its text, without blank lines around it; the end says so when it was cut.
    pub text: String,
    /// Whether it was cut.
    pub cut: bool,
}

/// Reads the `AGENTS.md` that is nearest to `inside`, a folder of the workspace relative to its root, on the way up to the root.
/// `None` = there is none, or it is blank.
///
/// # Errors
/// A [`Problem`] when `inside` leaves the workspace, or the nearest file cannot be read, is no text, or is a link out of the workspace.
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
        // Asked of the name itself, so that a link that leads nowhere is told and not passed over.
        if path.symlink_metadata().is_err() {
            continue;
        }
        let text = file::read(root, &path).map_err(|fault| Problem::new(&path, fault))?;
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
    // Whole lines, where there are any.
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
