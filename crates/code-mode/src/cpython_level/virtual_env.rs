//! The managed virtual environment: numpy, pandas and matplotlib in the versions of
//! [`REQUIREMENTS`], with verified hashes.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::cpython_level::python_discovery::{Interpreter, InterpreterError};

/// The packages, with the hashes of all their files.
pub const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Version of the marker file's format.
const FORMAT_VERSION: u32 = 1;

/// Imports every package to test an environment; also makes matplotlib build its font cache.
const SELF_TEST: &str = "import json, matplotlib, matplotlib.font_manager, numpy, pandas\nprint(json.dumps({m.__name__: m.__version__ for m in (matplotlib, numpy, pandas)}))";

/// The folder of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualEnv {
    folder: PathBuf,
}

/// State of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VirtualEnvState {
    /// Not installed.
    Missing,
    /// An installation was not finished, or files were removed.
    Unfinished,
    /// Installed from another list of packages than this build has.
    Outdated,
    /// Installed.
    Ready {
        /// Version of its Python.
        python: String,
        /// Packages with their versions.
        packages: Vec<(String, String)>,
    },
}

/// The reasons why the environment could not be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VirtualEnvError {
    /// There is no Python to create it with.
    #[error(transparent)]
    Interpreter(#[from] InterpreterError),
    /// Another installation is running.
    #[error("another installation is running")]
    Busy,
    /// A step failed; its output was shown.
    #[error("{step} failed with {status}")]
    Step {
        /// The step.
        step: &'static str,
        /// Exit status of its program.
        status: std::process::ExitStatus,
    },
    /// The packages are installed but do not work.
    #[error("the installed packages do not work: {0}")]
    Broken(String),
    /// A file or folder cannot be used.
    #[error("{}: {source}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Content of the marker file, which is written when an installation is finished.
#[derive(Debug, Serialize, Deserialize)]
struct Installed {
    form: u32,
    requirements: String,
    python: String,
    packages: serde_json::Map<String, serde_json::Value>,
}

impl VirtualEnv {
    /// Returns the environment in this folder, which the installation creates.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns its current state.
    #[must_use]
    pub fn state(&self) -> VirtualEnvState {
        if !self.folder.exists() {
            return VirtualEnvState::Missing;
        }
        let installed = std::fs::read(self.marker()).ok();
        let installed = installed.and_then(|text| serde_json::from_slice::<Installed>(&text).ok());
        match installed {
            Some(_) if !self.program().exists() => VirtualEnvState::Unfinished,
            Some(Installed { form: FORMAT_VERSION, requirements, python, packages }) => {
                if requirements != digest() {
                    return VirtualEnvState::Outdated;
                }
                let version = |value: serde_json::Value| value.as_str().unwrap_or("?").to_owned();
                let packages = packages.into_iter().map(|(name, value)| (name, version(value)));
                VirtualEnvState::Ready { python, packages: packages.collect() }
            }
            _ => VirtualEnvState::Unfinished,
        }
    }

    /// Returns its Python, if the environment is installed and up to date.
    pub(crate) async fn interpreter(
        &self,
        env: &[(OsString, OsString)],
    ) -> Option<Result<Interpreter, InterpreterError>> {
        if !matches!(self.state(), VirtualEnvState::Ready { .. }) {
            return None;
        }
        let found = Interpreter::inspect(&self.program(), env).await;
        Some(found.map(|found| Interpreter {
            // Python may report the target of the symbolic link as its executable, which has no
            // packages.
            program: self.program(),
            has_packages: true,
            fonts: files_in(&self.fonts()),
            ..found
        }))
    }

    /// Installs the environment from scratch with this Python and these variables (where pip finds
    /// its settings, proxies and certificates). The output of pip goes to standard error.
    ///
    /// # Errors
    /// [`VirtualEnvError`]; the previous environment is then deleted, which [`Self::state`] shows.
    pub fn install(
        &self,
        python: &Interpreter,
        env: &[(OsString, OsString)],
    ) -> Result<(), VirtualEnvError> {
        let _lock = self.lock()?;
        self.clear()?;
        let run = |step, program: &Path, args: &[&std::ffi::OsStr]| {
            let status = quiet(program, env)
                .args(args)
                .stdin(Stdio::null())
                .stdout(io::stderr())
                .status()
                .map_err(path_error(program))?;
            if status.success() { Ok(()) } else { Err(VirtualEnvError::Step { step, status }) }
        };
        let word = std::ffi::OsStr::new;
        let folder = self.folder.as_os_str();
        run(
            "making the virtual environment",
            &python.program,
            &[word("-I"), word("-m"), word("venv"), folder],
        )?;
        let list = self.folder.join("requirements.txt");
        std::fs::write(&list, REQUIREMENTS).map_err(path_error(&list))?;
        // Wheels only: no code of a package runs during the installation.
        let words = "-I -m pip install --no-input --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -r";
        let mut args: Vec<&std::ffi::OsStr> = words.split(' ').map(word).collect();
        args.push(list.as_os_str());
        run("installing the packages", &self.program(), &args)?;
        let packages = self.self_test(env)?;
        let (major, minor, patch) = python.version;
        let installed = Installed {
            form: FORMAT_VERSION,
            requirements: digest(),
            python: format!("{major}.{minor}.{patch}"),
            packages,
        };
        let text = serde_json::to_vec(&installed)
            .map_err(|error| path_error(&self.marker())(error.into()))?;
        std::fs::write(self.marker(), text).map_err(path_error(&self.marker()))
    }

    /// Removes it.
    ///
    /// # Errors
    /// [`VirtualEnvError`] if an installation is running, or if a file cannot be removed.
    pub fn remove(&self) -> Result<(), VirtualEnvError> {
        if !self.folder.exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.clear()
    }

    /// Imports the packages once, so that the work of their first import is already done.
    fn self_test(
        &self,
        env: &[(OsString, OsString)],
    ) -> Result<serde_json::Map<String, serde_json::Value>, VirtualEnvError> {
        let program = self.program();
        let said = quiet(&program, env)
            .args(["-I", "-c", SELF_TEST])
            .env("MPLBACKEND", "Agg")
            .env("MPLCONFIGDIR", self.fonts())
            .stdin(Stdio::null())
            .output()
            .map_err(path_error(&program))?;
        let words = String::from_utf8_lossy(&said.stderr);
        let last = words.lines().last().unwrap_or("it says nothing");
        serde_json::from_slice(&said.stdout).map_err(|_| VirtualEnvError::Broken(last.to_owned()))
    }

    fn clear(&self) -> Result<(), VirtualEnvError> {
        // The marker is removed first, so that a partial environment is never taken for a complete
        // one.
        for result in [std::fs::remove_file(self.marker()), std::fs::remove_dir_all(&self.folder)] {
            match result {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(path_error(&self.folder)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Locks the environment, across processes too.
    fn lock(&self) -> Result<File, VirtualEnvError> {
        let path = self.folder.with_extension("lock");
        let parent = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent).map_err(path_error(parent))?;
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(path_error(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => Err(VirtualEnvError::Busy),
            Err(std::fs::TryLockError::Error(error)) => Err(path_error(&path)(error)),
        }
    }

    fn program(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    fn marker(&self) -> PathBuf {
        self.folder.join("installed.json")
    }

    fn fonts(&self) -> PathBuf {
        self.folder.join("matplotlib")
    }
}

/// Creates a command with only these variables, except those that change Python's behavior.
fn quiet(program: &Path, env: &[(OsString, OsString)]) -> Command {
    let own = |name: &OsString| name.to_string_lossy().starts_with("PYTHON");
    let mut command = Command::new(program);
    command.env_clear().envs(env.iter().filter(|(name, _)| !own(name)).cloned());
    command
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}

fn digest() -> String {
    let bytes = Sha256::digest(REQUIREMENTS);
    bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn path_error(path: &Path) -> impl FnOnce(io::Error) -> VirtualEnvError {
    let path = path.to_owned();
    move |source| VirtualEnvError::Path { path, source }
}
