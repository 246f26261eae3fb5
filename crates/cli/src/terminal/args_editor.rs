//! Edits the arguments of a call in the person's editor.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use serde_json::Value;

/// Returns the editor of the environment; `None` if none is set.
pub(crate) fn editor_command() -> Option<String> {
    let named = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok());
    named.filter(|editor| !editor.trim().is_empty())
}

/// A file with arguments for editing. Only its owner can read it, and it is removed afterwards.
pub(crate) struct ArgsDraft {
    path: PathBuf,
}

impl ArgsDraft {
    /// Writes the file.
    ///
    /// # Errors
    /// A folder for temporary files that cannot be written.
    pub(crate) fn from_args(args: &Value) -> io::Result<Self> {
        let name = format!("toolcrib-arguments-{}.json", toolcrib_core::CallId::fresh());
        let path = std::env::temp_dir().join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let draft = Self { path };
        writeln!(file, "{args:#}")?;
        Ok(draft)
    }

    /// Returns the command that opens it. As in git, the editor may be a command with options.
    pub(crate) fn command(&self, editor: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(&self.path);
        command
    }

    /// Returns the text after editing.
    ///
    /// # Errors
    /// An editor that failed, or a text that cannot be read.
    pub(crate) fn text(self, status: ExitStatus) -> io::Result<String> {
        if !status.success() {
            return Err(io::Error::other(format!("it ended with {status}")));
        }
        fs::read_to_string(&self.path)
    }
}

impl Drop for ArgsDraft {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
