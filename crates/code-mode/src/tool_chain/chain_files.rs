//! Files of saved chains: listed, written atomically, and removed by their owner.
#![deny(clippy::indexing_slicing)]

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use toolcrib_core::{ToolName, ToolSpec};

use super::saved_chains::{self, EXTENSION, MAX_BYTES, MAX_SAVED};

/// A folder of chains; see [`SavedChains`](super::SavedChains).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFolder {
    path: PathBuf,
}

/// A saved chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFile {
    /// Its name, which is also the name of its tool.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Its description, or the reason why it cannot be a tool.
    pub description: Result<String, String>,
}

/// The reasons why a chain cannot be saved or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// Invalid name.
    #[error(
        "{0:?} is not a valid name for a tool: use a lowercase letter, then lowercase letters, digits and _, at most 64 in all"
    )]
    Name(String),
    /// Invalid as a tool.
    #[error("it is not a valid tool: {0}")]
    Definition(String),
    /// Its syntax could not be checked.
    #[error("it could not be checked, so it was not saved: {0}")]
    Unchecked(String),
    /// The folder is full.
    #[error("there are {MAX_SAVED} scripts in {} already", .0.display())]
    Full(PathBuf),
    /// No chain has this name.
    #[error("there is no script {0:?}")]
    Missing(String),
    /// The file cannot be used.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

impl ChainFile {
    /// Returns its text.
    ///
    /// # Errors
    /// [`ChainError::Missing`]; [`ChainError::File`], also if its file is a link, not a regular
    /// file, or too long.
    pub fn text(&self) -> Result<String, ChainError> {
        saved_chains::text(&self.path)
            .map_err(|error| file_error(&self.name, self.path.clone(), error))
    }
}

impl ChainFolder {
    /// Returns the chains in this folder, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns all chains, by name.
    #[must_use]
    pub fn list(&self) -> Vec<ChainFile> {
        let kept = |path: PathBuf| {
            let name = path.file_stem()?.to_str()?.to_owned();
            let description = saved_chains::read(&path).map(|(spec, _)| spec.description);
            Some(ChainFile { name, path, description })
        };
        saved_chains::files(&self.path).into_iter().filter_map(kept).collect()
    }

    /// Returns the text of a chain.
    ///
    /// # Errors
    /// [`ChainError::Missing`], [`ChainError::File`].
    pub fn text(&self, name: &str) -> Result<String, ChainError> {
        let path = self.file(name)?;
        saved_chains::text(&path).map_err(|error| file_error(name, path, error))
    }

    /// Saves a chain and replaces one of the same name, atomically.
    ///
    /// # Errors
    /// [`ChainError`]; nothing was changed.
    pub fn save(&self, name: &str, code: &str) -> Result<ChainFile, ChainError> {
        let path = self.file(name)?;
        let spec = definition(name, code)?;
        if !path.exists() && saved_chains::files(&self.path).len() >= MAX_SAVED {
            return Err(ChainError::Full(self.path.clone()));
        }
        let write = || {
            fs::create_dir_all(&self.path)?;
            let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(&self.path)?;
            file.write_all(code.as_bytes())?;
            readable(file.path())?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)
        };
        write().map_err(|error| ChainError::File { path: path.clone(), error })?;
        Ok(ChainFile { name: name.to_owned(), path, description: Ok(spec.description) })
    }

    /// Removes a chain.
    ///
    /// # Errors
    /// [`ChainError::Missing`], [`ChainError::File`].
    pub fn remove(&self, name: &str) -> Result<(), ChainError> {
        let path = self.file(name)?;
        fs::remove_file(&path).map_err(|error| file_error(name, path, error))
    }

    /// Returns the file of a valid name.
    fn file(&self, name: &str) -> Result<PathBuf, ChainError> {
        ToolName::local(name).map_err(|_| ChainError::Name(name.to_owned()))?;
        Ok(self.path.join(format!("{name}.{EXTENSION}")))
    }
}

/// Returns the definition of the tool for this chain.
///
/// # Errors
/// [`ChainError::Name`], [`ChainError::Definition`].
fn definition(name: &str, code: &str) -> Result<ToolSpec, ChainError> {
    let named = ToolName::local(name).map_err(|_| ChainError::Name(name.to_owned()))?;
    if code.len() as u64 > MAX_BYTES {
        return Err(ChainError::Definition(format!("it has more than {MAX_BYTES} bytes")));
    }
    saved_chains::spec(named, code).map_err(ChainError::Definition)
}

fn file_error(name: &str, path: PathBuf, error: io::Error) -> ChainError {
    match error.kind() {
        io::ErrorKind::NotFound => ChainError::Missing(name.to_owned()),
        _ => ChainError::File { path, error },
    }
}

/// Makes a file readable for the group and others: temporary files are private, but a workspace is
/// shared.
fn readable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_kept_listed_shown_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = ChainFolder::new(dir.path().join("tools"));
        assert_eq!(folder.list(), []);
        let code = "# description: Doubles.\nargs['n'] * 2";
        folder.save("double", code).unwrap();
        folder.save("double", &format!("{code}\n")).unwrap();
        fs::write(folder.path().join("odd.py"), "1").unwrap();
        let rows: Vec<_> =
            folder.list().into_iter().map(|kept| (kept.name, kept.description)).collect();
        let odd = Err("its first lines have no `# description: …`".to_owned());
        assert_eq!(rows, [("double".into(), Ok("Doubles.".into())), ("odd".into(), odd)]);
        assert_eq!(folder.text("double").unwrap(), format!("{code}\n"));
        folder.remove("double").unwrap();
        assert!(matches!(folder.text("double"), Err(ChainError::Missing(_))));
        assert!(matches!(folder.remove("double"), Err(ChainError::Missing(_))));
    }

    #[test]
    fn what_is_no_tool_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let folder = ChainFolder::new(dir.path());
        let check = |name: &str, code: &str, expected: &str| {
            let error = folder.save(name, code).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        let good = "# description: D\n1";
        for name in ["../x", "a/b", "", "_x", ".x", "a b", "ü"] {
            check(name, good, "is not a valid name for a tool");
        }
        check("x", "1", "have no `# description");
        check("x", &format!("{good}{}", " ".repeat(200_001)), "more than 200000 bytes");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
