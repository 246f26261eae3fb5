//! Finds the Python for the level `full`, and the paths that it needs to read.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toolcrib_sandbox::process::{End, Limits, Program};

/// The oldest Python that the kernel and the packages support.
pub(crate) const MIN_VERSION: (u32, u32) = (3, 10);

/// Timeout of the probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// Prints version and paths of a Python.
const PROBE_SCRIPT: &str = "import json, sys\nprint(json.dumps({'program': sys.executable, 'folders': [sys.prefix, sys.base_prefix, sys.base_exec_prefix], 'version': list(sys.version_info[:3])}))";

/// Program names that are searched.
const NAMES: [&str; 2] = ["python3", "python"];

/// A Python of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The executable, as an absolute path.
    pub program: PathBuf,
    /// Its version.
    pub version: (u32, u32, u32),
    /// Paths that it needs to read.
    pub readable: Vec<PathBuf>,
    /// Whether it has the packages of the managed [`VirtualEnv`](crate::VirtualEnv).
    pub has_packages: bool,
    /// matplotlib's font cache, so that kernels need not search for fonts.
    pub fonts: Vec<PathBuf>,
}

/// The reasons why there is no usable Python.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum InterpreterError {
    /// No Python was found.
    #[error("no Python was found in PATH")]
    NotFound,
    /// A Python was found but does not work.
    #[error("{} does not work: {what}", program.display())]
    Broken {
        /// The executable.
        program: PathBuf,
        /// Its error.
        what: String,
    },
    /// The Python is too old.
    #[error("{} is Python {}.{}, and at least {}.{} is needed", program.display(), version.0, version.1, MIN_VERSION.0, MIN_VERSION.1)]
    TooOld {
        /// The executable.
        program: PathBuf,
        /// Its version.
        version: (u32, u32, u32),
    },
}

/// Output of the probe.
#[derive(Debug, Deserialize)]
struct ProbeAnswer {
    program: PathBuf,
    folders: Vec<PathBuf>,
    version: (u32, u32, u32),
}

impl Interpreter {
    /// Finds the first working Python in the `PATH` of these variables.
    ///
    /// # Errors
    /// [`InterpreterError`]: the problem of the first Python that was found, or that none was
    /// found.
    pub async fn find(env: &[(OsString, OsString)]) -> Result<Self, InterpreterError> {
        let path = env.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map_or(OsStr::new(""), |(_, path)| path);
        let mut wrong = None;
        for name in NAMES {
            for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
                let program = folder.join(name);
                if !program.is_file() {
                    continue;
                }
                match Self::inspect(&program, env).await {
                    Ok(found) => return Ok(found),
                    Err(error) => wrong = wrong.or(Some(error)),
                }
            }
        }
        Err(wrong.unwrap_or(InterpreterError::NotFound))
    }

    /// Inspects this executable by running it with these variables.
    ///
    /// # Errors
    /// [`InterpreterError`] if it does not work or is too old.
    pub async fn inspect(
        program: &Path,
        env: &[(OsString, OsString)],
    ) -> Result<Self, InterpreterError> {
        let broken = |what: String| InterpreterError::Broken { program: program.to_owned(), what };
        let mut asking = Program::new(program, "/")
            .args(["-I", "-c", PROBE_SCRIPT])
            .limits(Limits { time: PROBE_TIMEOUT, ..Limits::default() });
        for (name, value) in env {
            asking = asking.env(name, value);
        }
        let said = asking.run(std::future::pending()).await;
        let said = said.map_err(|error| broken(error.to_string()))?;
        if said.end != End::Exited(0) {
            return Err(broken(said.stderr.last(300)));
        }
        let answer: ProbeAnswer = serde_json::from_slice(&said.stdout.head)
            .map_err(|_| broken("it is not a Python".to_owned()))?;
        if (answer.version.0, answer.version.1) < MIN_VERSION {
            let (program, version) = (program.to_owned(), answer.version);
            return Err(InterpreterError::TooOld { program, version });
        }
        let root = Path::new("/");
        let mut readable: Vec<PathBuf> = Vec::new();
        for folder in answer.folders {
            // The root folder would expose everything; the files of a Python installed there are in
            // the system folders.
            if folder.is_absolute() && folder != root && !readable.contains(&folder) {
                readable.push(folder);
            }
        }
        if !answer.program.is_absolute() {
            return Err(broken("it does not know where it is".to_owned()));
        }
        Ok(Self {
            program: answer.program,
            version: answer.version,
            readable,
            has_packages: false,
            fonts: Vec::new(),
        })
    }
}
