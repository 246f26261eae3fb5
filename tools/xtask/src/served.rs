//! A daemon of the built binary, for the tour and for what is tested against it from outside. Its
//! home is its own, and it ends with its owner.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;

/// How long a start may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon at work.
pub(crate) struct Served {
    child: Child,
    /// Where it answers, such as `http://127.0.0.1:1234`.
    pub(crate) url: String,
    /// The token of its owner.
    pub(crate) token: String,
}

impl Served {
    /// Starts one with this home, on this workspace, and waits until it answers.
    pub(crate) fn start(
        binary: &Path,
        home: &Path,
        workspace: &Path,
        args: &[&str],
    ) -> Result<Self> {
        let mut command = Command::new(binary);
        command
            .args(["serve", "--log-level", "warn"])
            .args(args)
            .current_dir(workspace)
            .env("TOOLCRIB_HOME", home)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        for name in process::VARIABLES {
            command.env_remove(name);
        }
        let child = command.spawn().with_context(|| format!("starting {}", binary.display()))?;
        let mut served = Self { child, url: String::new(), token: String::new() };
        served.await_address(&home.join("state/daemon"))?;
        Ok(served)
    }

    /// It has written where it listens once it answers.
    fn await_address(&mut self, folder: &Path) -> Result<()> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("toolcrib serve ended with {status}");
            }
            if let Some(url) = url(&folder.join("address"), self.child.id()) {
                self.url = url;
                let token =
                    fs::read_to_string(folder.join("token")).context("reading its token")?;
                token.trim().clone_into(&mut self.token);
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                bail!("toolcrib serve does not say where it listens");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until it ends, or until this process is told to end; then stops the daemon and removes
    /// its folder.
    pub(crate) fn wait(mut self) -> Result<()> {
        let id = self.child.id().to_string();
        ctrlc::set_handler(move || {
            let _ = Command::new("kill").arg(&id).status();
        })?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = process::run(Command::new("kill").arg(self.child.id().to_string()));
        }
        let _ = self.child.wait();
    }
}

fn url(file: &Path, pid: u32) -> Option<String> {
    let address: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    if address["pid"] != pid {
        return None;
    }
    Some(format!("http://{}", address["tcp"].as_str()?))
}

/// A folder of its own below that of temporary files, which is removed at the end.
pub(crate) struct Scratch {
    /// The folder.
    pub(crate) path: PathBuf,
}

impl Scratch {
    /// A new one whose name begins like this.
    pub(crate) fn new(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("toolcrib-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("workspace"))?;
        Ok(Self { path })
    }

    /// Where Toolcrib keeps its own in it.
    pub(crate) fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    /// The workspace in it.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.path.join("workspace")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
