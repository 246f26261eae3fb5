//! The binary whose output becomes pages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// Columns of text that depends on the width of the terminal.
const COLUMNS: &str = "100";

/// The built binary, run in an empty folder with a state folder of its own, so that no page depends
/// on the machine.
pub(super) struct Binary {
    path: PathBuf,
    home: Home,
}

impl Binary {
    /// Builds it in the dev profile.
    pub(super) fn build() -> Result<Self> {
        Ok(Self { path: process::build_binary()?, home: Home::create()? })
    }

    /// What a command prints.
    pub(super) fn text(&self, args: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.path);
        command
            .args(args)
            .current_dir(&self.home.0)
            .env("TOOLCRIB_HOME", self.home.0.join("state"))
            .env("NO_COLOR", "1")
            .env("COLUMNS", COLUMNS)
            .stdin(Stdio::null());
        for name in process::VARIABLES {
            command.env_remove(name);
        }
        process::output(&mut command)
    }

    /// What a command prints as JSON.
    pub(super) fn json(&self, args: &[&str]) -> Result<Value> {
        let text = self.text(args)?;
        serde_json::from_str(&text).with_context(|| format!("toolcrib {}", args.join(" ")))
    }
}

/// An empty folder, removed at the end.
struct Home(PathBuf);

impl Home {
    fn create() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("toolcrib-gen-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let path: &Path = &self.0;
        let _ = fs::remove_dir_all(path);
    }
}
