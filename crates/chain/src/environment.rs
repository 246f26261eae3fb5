//! The managed virtual environment: numpy, pandas and matplotlib in the versions of [`REQUIREMENTS`], whose hashes are checked.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::interpreter::{Interpreter, InterpreterError};

/// The packages, with the hashes of all their files.
pub const REQUIREMENTS: &str = include_str!("requirements.txt");

/// The form of the file that says what is installed.
const FORM: u32 = 1;

/// What is imported to see whether an environment works; it has matplotlib look for the fonts of this machine too.
const TRIAL: &str = "import json, matplotlib, matplotlib.font_manager, numpy, pandas\nprint(json.dumps({m.__name__: m.__version__ for m in (matplotlib, numpy, pandas)}))";

/// Where the environment is, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    folder: PathBuf,
}

/// What is known of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvironmentState {
    /// There is none.
    Missing,
    /// An installation was not finished, or somebody took something away.
    Unfinished,
    /// It is there, from another list of packages than this build has.
    Outdated,
    /// It is there.
    Ready {
        /// Version of its Python.
        python: String,
        /// Packages with their versions.
        packages: Vec<(String, String)>,
    },
}

/// Why the environment could not be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// There is no Python to make it with.
    #[error(transparent)]
    Interpreter(#[from] InterpreterError),
    /// Another installation is at work.
    #[error("another installation is at work")]
    Busy,
    /// A step failed; its own words were shown.
    #[error("{step} failed with {status}")]
    Step {
        /// What was done.
        step: &'static str,
        /// How its program ended.
        status: std::process::ExitStatus,
    },
    /// The packages are there, and do not work.
    #[error("the installed packages do not work: {0}")]
    Broken(String),
    /// A file or folder cannot be used.
    #[error("{}: {source}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// What is written when an installation is finished.
#[derive(Debug, Serialize, Deserialize)]
struct Installed {
    form: u32,
    requirements: String,
    python: String,
    packages: serde_json::Map<String, serde_json::Value>,
}

impl Environment {
    /// The environment in this folder, which is made when it is installed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is there.
    #[must_use]
    pub fn state(&self) -> EnvironmentState {
        if !self.folder.exists() {
            return EnvironmentState::Missing;
        }
        let installed = std::fs::read(self.marker()).ok();
        let installed = installed.and_then(|text| serde_json::from_slice::<Installed>(&text).ok());
        match installed {
            Some(_) if !self.program().exists() => EnvironmentState::Unfinished,
            Some(Installed { form: FORM, requirements, python, packages }) => {
                if requirements != digest() {
                    return EnvironmentState::Outdated;
                }
                let version = |value: serde_json::Value| value.as_str().unwrap_or("?").to_owned();
                let packages = packages.into_iter().map(|(name, value)| (name, version(value)));
                EnvironmentState::Ready { python, packages: packages.collect() }
            }
            _ => EnvironmentState::Unfinished,
        }
    }

    /// Its Python, if it is there and what this build wants.
    pub(crate) async fn interpreter(
        &self,
        env: &[(OsString, OsString)],
    ) -> Option<Result<Interpreter, InterpreterError>> {
        if !matches!(self.state(), EnvironmentState::Ready { .. }) {
            return None;
        }
        let found = Interpreter::at(&self.program(), env).await;
        Some(found.map(|found| Interpreter {
            // Its own name for itself may be the one behind the link, which has no packages.
            program: self.program(),
            has_packages: true,
            fonts: files_in(&self.fonts()),
            ..found
        }))
    }

    /// Makes it anew with this Python, with these variables (where its package installer finds its settings, proxies and certificates). What the
    /// installer says goes to standard error.
    ///
    /// # Errors
    /// [`EnvironmentError`]; what was there before is gone then, and [`Self::state`] says so.
    pub fn install(
        &self,
        python: &Interpreter,
        env: &[(OsString, OsString)],
    ) -> Result<(), EnvironmentError> {
        let _lock = self.lock()?;
        self.clear()?;
        let run = |step, program: &Path, args: &[&std::ffi::OsStr]| {
            let status = quiet(program, env)
                .args(args)
                .stdin(Stdio::null())
                .stdout(io::stderr())
                .status()
                .map_err(at(program))?;
            if status.success() { Ok(()) } else { Err(EnvironmentError::Step { step, status }) }
        };
        let word = std::ffi::OsStr::new;
        let folder = self.folder.as_os_str();
        run(
            "making the virtual environment",
            &python.program,
            &[word("-I"), word("-m"), word("venv"), folder],
        )?;
        let list = self.folder.join("requirements.txt");
        std::fs::write(&list, REQUIREMENTS).map_err(at(&list))?;
        // Only finished packages: nothing of them runs while they are installed.
        let words = "-I -m pip install --no-input --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -r";
        let mut args: Vec<&std::ffi::OsStr> = words.split(' ').map(word).collect();
        args.push(list.as_os_str());
        run("installing the packages", &self.program(), &args)?;
        let packages = self.try_out(env)?;
        let (major, minor, patch) = python.version;
        let installed = Installed {
            form: FORM,
            requirements: digest(),
            python: format!("{major}.{minor}.{patch}"),
            packages,
        };
        let text =
            serde_json::to_vec(&installed).map_err(|error| at(&self.marker())(error.into()))?;
        std::fs::write(self.marker(), text).map_err(at(&self.marker()))
    }

    /// Removes it.
    ///
    /// # Errors
    /// [`EnvironmentError`] when somebody installs it just now, or a file cannot be removed.
    pub fn remove(&self) -> Result<(), EnvironmentError> {
        if !self.folder.exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.clear()
    }

    /// Imports the packages once, which has what they prepare at their first import prepared.
    fn try_out(
        &self,
        env: &[(OsString, OsString)],
    ) -> Result<serde_json::Map<String, serde_json::Value>, EnvironmentError> {
        let program = self.program();
        let said = quiet(&program, env)
            .args(["-I", "-c", TRIAL])
            .env("MPLBACKEND", "Agg")
            .env("MPLCONFIGDIR", self.fonts())
            .stdin(Stdio::null())
            .output()
            .map_err(at(&program))?;
        let words = String::from_utf8_lossy(&said.stderr);
        let last = words.lines().last().unwrap_or("it says nothing");
        serde_json::from_slice(&said.stdout).map_err(|_| EnvironmentError::Broken(last.to_owned()))
    }

    fn clear(&self) -> Result<(), EnvironmentError> {
        // What says that it is finished goes first, so that half of it is never taken for the whole.
        for result in [std::fs::remove_file(self.marker()), std::fs::remove_dir_all(&self.folder)] {
            match result {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(at(&self.folder)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// One change at a time, between processes too.
    fn lock(&self) -> Result<File, EnvironmentError> {
        let path = self.folder.with_extension("lock");
        let parent = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent).map_err(at(parent))?;
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(at(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => Err(EnvironmentError::Busy),
            Err(std::fs::TryLockError::Error(error)) => Err(at(&path)(error)),
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

/// A program that sees these variables and no others, none of which changes what its Python does.
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

fn at(path: &Path) -> impl FnOnce(io::Error) -> EnvironmentError {
    let path = path.to_owned();
    move |source| EnvironmentError::Path { path, source }
}
