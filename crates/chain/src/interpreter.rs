//! Which Python runs code at the level `full`, and what of the disk it needs to see.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toolcrib_sandbox::process::{End, Limits, Program};

/// The oldest Python that the kernel and the packages work with.
pub(crate) const OLDEST: (u32, u32) = (3, 10);

/// How long a Python may take to say what it is.
const ASKED: Duration = Duration::from_secs(20);

/// What it is asked.
const QUESTION: &str = "import json, sys\nprint(json.dumps({'program': sys.executable, 'folders': [sys.prefix, sys.base_prefix, sys.base_exec_prefix], 'version': list(sys.version_info[:3])}))";

/// Names under which it is looked for.
const NAMES: [&str; 2] = ["python3", "python"];

/// A Python of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The executable, by its absolute path.
    pub program: PathBuf,
    /// Its version.
    pub version: (u32, u32, u32),
    /// What it needs to see of the disk.
    pub readable: Vec<PathBuf>,
    /// Whether it has the packages of the [`Environment`](crate::Environment).
    pub has_packages: bool,
    /// What matplotlib knows of the fonts of this machine, so that no kernel has to look for them.
    pub fonts: Vec<PathBuf>,
}

/// Why there is no Python.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum InterpreterError {
    /// None was found.
    #[error("no Python was found in PATH")]
    NotFound,
    /// One was found, and does not work.
    #[error("{} does not work: {what}", program.display())]
    Broken {
        /// The executable.
        program: PathBuf,
        /// What it said.
        what: String,
    },
    /// All that were found are older than what is needed.
    #[error("{} is Python {}.{}, and at least {}.{} is needed", program.display(), version.0, version.1, OLDEST.0, OLDEST.1)]
    TooOld {
        /// The executable.
        program: PathBuf,
        /// Its version.
        version: (u32, u32, u32),
    },
}

/// What it answers.
#[derive(Debug, Deserialize)]
struct Answer {
    program: PathBuf,
    folders: Vec<PathBuf>,
    version: (u32, u32, u32),
}

impl Interpreter {
    /// The first Python in the `PATH` of these variables that works.
    ///
    /// # Errors
    /// [`InterpreterError`]: what is wrong with the first that was found, or that there is none.
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
                match Self::at(&program, env).await {
                    Ok(found) => return Ok(found),
                    Err(error) => wrong = wrong.or(Some(error)),
                }
            }
        }
        Err(wrong.unwrap_or(InterpreterError::NotFound))
    }

    /// The Python that this executable is. It is run to ask it, with these variables.
    ///
    /// # Errors
    /// [`InterpreterError`] when it does not work or is too old.
    pub async fn at(
        program: &Path,
        env: &[(OsString, OsString)],
    ) -> Result<Self, InterpreterError> {
        let broken = |what: String| InterpreterError::Broken { program: program.to_owned(), what };
        let mut asking = Program::new(program, "/")
            .args(["-I", "-c", QUESTION])
            .limits(Limits { time: ASKED, ..Limits::default() });
        for (name, value) in env {
            asking = asking.env(name, value);
        }
        let said = asking.run(std::future::pending()).await;
        let said = said.map_err(|error| broken(error.to_string()))?;
        if said.end != End::Exited(0) {
            return Err(broken(said.stderr.last(300)));
        }
        let answer: Answer = serde_json::from_slice(&said.stdout.head)
            .map_err(|_| broken("it is no Python".to_owned()))?;
        if (answer.version.0, answer.version.1) < OLDEST {
            let (program, version) = (program.to_owned(), answer.version);
            return Err(InterpreterError::TooOld { program, version });
        }
        let root = Path::new("/");
        let mut readable: Vec<PathBuf> = Vec::new();
        for folder in answer.folders {
            // One at the root would show everything; its files are where those of the system are.
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
