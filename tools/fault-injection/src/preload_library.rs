//! Libraries that are preloaded into processes under test: compiled with the system's compiler, and
//! gone when dropped.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::error::Result;

/// A compiled library.
pub(crate) struct PreloadLibrary {
    _folder: TempDir,
    pub(crate) path: PathBuf,
}

impl PreloadLibrary {
    /// Compiles a source of C.
    pub(crate) fn compile(source: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (file, path) = (folder.path().join("shim.c"), folder.path().join("shim.so"));
        std::fs::write(&file, source)?;
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let out = Command::new(compiler)
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&path, &file])
            .args(["-lpthread", "-ldl"])
            .output()?;
        if !out.status.success() {
            return Err(String::from_utf8_lossy(&out.stderr).into_owned().into());
        }
        Ok(Self { _folder: folder, path })
    }
}
