//! Arguments of a call in the person's own editor.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use serde_json::Value;

/// The editor of the environment; `None` = there is none.
pub(crate) fn editor_command() -> Option<String> {
    let named = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok());
    named.filter(|editor| !editor.trim().is_empty())
}

/// Arguments that are written down to be edited. The file is readable for its owner only, and
/// removed afterwards.
pub(crate) struct ArgsDraft {
    path: PathBuf,
}

impl ArgsDraft {
    /// Writes them down.
    ///
    /// # Errors
    /// When the folder for temporary files cannot be written.
    pub(crate) fn from_args(args: &Value) -> io::Result<Self> {
        let name = format!("toolcrib-arguments-{}.json", toolcrib_core::CallId::fresh());
        let path = std::env::temp_dir().join(name);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let draft = Self { path };
        writeln!(file, "{args:#}")?;
        Ok(draft)
    }

    /// The command that opens it. As git does: an editor may be a command with options.
    pub(crate) fn command(&self, editor: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(&self.path);
        command
    }

    /// The text that the person left.
    ///
    /// # Errors
    /// When the editor failed, or the text cannot be read.
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
