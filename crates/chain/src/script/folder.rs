//! The files of scripts that are kept: written and removed whole, by people.
#![deny(clippy::indexing_slicing)]

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use toolcrib_core::{ToolName, ToolSpec};

use super::saved::{self, BYTES, ENDING, MOST};

/// A folder of scripts; see [`SavedChains`](super::SavedChains).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFolder {
    path: PathBuf,
}

/// A script that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptChain {
    /// Its name, which is that of its tool.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// What it says that it does, or why it is no tool.
    pub description: Result<String, String>,
}

/// Why a script is not kept, or not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// It cannot have this name.
    #[error(
        "{0:?} is no name for a tool: a small letter, then small letters, digits and _, at most 64 of them"
    )]
    Name(String),
    /// It is no tool.
    #[error("it is no tool: {0}")]
    Definition(String),
    /// Nobody could tell whether its syntax is right.
    #[error("it could not be checked, so it is not kept: {0}")]
    Unchecked(String),
    /// The folder is full.
    #[error("there are {MOST} scripts in {} already", .0.display())]
    Full(PathBuf),
    /// There is none.
    #[error("there is no script {0:?}")]
    Missing(String),
    /// The file cannot be used.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl KeptChain {
    /// Its text.
    ///
    /// # Errors
    /// [`ChainError::Missing`], [`ChainError::File`], also where its file is a link, no file or too long.
    pub fn text(&self) -> Result<String, ChainError> {
        saved::text(&self.path).map_err(|error| of_file(&self.name, self.path.clone(), error))
    }
}

impl ChainFolder {
    /// The scripts in this folder, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All of them, by name.
    #[must_use]
    pub fn list(&self) -> Vec<KeptChain> {
        let kept = |path: PathBuf| {
            let name = path.file_stem()?.to_str()?.to_owned();
            let description = saved::read(&path).map(|(spec, _)| spec.description);
            Some(KeptChain { name, path, description })
        };
        saved::files(&self.path).into_iter().filter_map(kept).collect()
    }

    /// The text of a script.
    ///
    /// # Errors
    /// [`ChainError::Missing`], [`ChainError::File`].
    pub fn text(&self, name: &str) -> Result<String, ChainError> {
        let path = self.file(name)?;
        saved::text(&path).map_err(|error| of_file(name, path, error))
    }

    /// Keeps a script, in place of one of the same name. All of it is written or nothing.
    ///
    /// # Errors
    /// [`ChainError`]; then nothing has changed.
    pub fn save(&self, name: &str, code: &str) -> Result<KeptChain, ChainError> {
        let path = self.file(name)?;
        let spec = definition(name, code)?;
        if !path.exists() && saved::files(&self.path).len() >= MOST {
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
        Ok(KeptChain { name: name.to_owned(), path, description: Ok(spec.description) })
    }

    /// Removes a script.
    ///
    /// # Errors
    /// [`ChainError::Missing`], [`ChainError::File`].
    pub fn remove(&self, name: &str) -> Result<(), ChainError> {
        let path = self.file(name)?;
        fs::remove_file(&path).map_err(|error| of_file(name, path, error))
    }

    /// The file of a name that is one.
    fn file(&self, name: &str) -> Result<PathBuf, ChainError> {
        ToolName::local(name).map_err(|_| ChainError::Name(name.to_owned()))?;
        Ok(self.path.join(format!("{name}.{ENDING}")))
    }
}

/// The definition of the tool that this script would be.
///
/// # Errors
/// [`ChainError::Name`], [`ChainError::Definition`].
fn definition(name: &str, code: &str) -> Result<ToolSpec, ChainError> {
    let named = ToolName::local(name).map_err(|_| ChainError::Name(name.to_owned()))?;
    if code.len() as u64 > BYTES {
        return Err(ChainError::Definition(format!("it has more than {BYTES} bytes")));
    }
    saved::spec(named, code).map_err(ChainError::Definition)
}

fn of_file(name: &str, path: PathBuf, error: io::Error) -> ChainError {
    match error.kind() {
        io::ErrorKind::NotFound => ChainError::Missing(name.to_owned()),
        _ => ChainError::File { path, error },
    }
}

/// Temporary files are their owner's alone; a workspace is shared.
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
            check(name, good, "is no name for a tool");
        }
        check("x", "1", "have no `# description");
        check("x", &format!("{good}{}", " ".repeat(200_001)), "more than 200000 bytes");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
