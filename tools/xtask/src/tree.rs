//! Where the workspace is, what files it has, and where its builds go.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folders that hold no sources of ours.
const SKIPPED: &[&str] =
    &[".git", "target", "node_modules", "fuzz/corpus", "fuzz/artifacts", "fuzz/target"];

/// The root of the workspace: the folder two above this crate.
pub(crate) fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.ancestors().nth(2).map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Where child builds go: what the caller says, else the cache folder of the user, so that the tree
/// stays clean.
pub(crate) fn target_dir() -> PathBuf {
    let var = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || var("XDG_CACHE_HOME").or_else(|| Some(var("HOME")?.join(".cache")));
    var("CARGO_TARGET_DIR")
        .or_else(|| Some(cache()?.join("toolcrib/target")))
        .unwrap_or_else(|| root().join("target"))
}

/// A file of the tree.
pub(crate) struct File {
    /// Path below the root, with `/`.
    pub(crate) path: String,
    /// Its text; files that are not UTF-8 are left out.
    pub(crate) text: String,
}

/// Every text file of the tree, in the order of their paths.
pub(crate) fn files() -> Result<Vec<File>> {
    let root = root();
    let mut found = Vec::new();
    collect(&root, "", &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn collect(folder: &Path, below: &str, found: &mut Vec<File>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !SKIPPED.contains(&name.as_str()) && !SKIPPED.contains(&path.as_str()) {
                collect(&entry.path(), &path, found)?;
            }
        } else if kind.is_file()
            // In a linked worktree it names a folder of the machine.
            && name != ".git"
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            found.push(File { path, text });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_this_workspace() {
        let paths: Vec<String> = files().unwrap().into_iter().map(|f| f.path).collect();
        for expected in ["Cargo.toml", "tools/xtask/src/tree.rs", ".cargo/config.toml"] {
            assert!(paths.iter().any(|p| p == expected), "{expected} is missing");
        }
        assert!(!paths.iter().any(|p| p.starts_with("target/") || p.starts_with(".git/")));
    }
}
