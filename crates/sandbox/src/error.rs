//! Errors of starting a program in a sandbox.

use std::io;
use std::path::PathBuf;

use crate::Level;

/// Why a program was not started; it has not run at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The host cannot provide the level that the policy requires.
    #[error("this host provides the level {strongest}, but at least {minimum} is required{}", because(.reason))]
    BelowMinimum {
        /// The required level.
        minimum: Level,
        /// The strongest available level.
        strongest: Level,
        /// Why the next stronger level is not available.
        reason: String,
    },
    /// A part of the policy cannot be enforced at the available level.
    #[error(
        "{what} cannot be enforced at the level {level}, the strongest that this host provides"
    )]
    CannotHold {
        /// The level.
        level: Level,
        /// The part that cannot be enforced.
        what: &'static str,
    },
    /// A path of the policy or the start folder does not exist or cannot be used.
    #[error("{path:?} cannot be used: {source}")]
    Path {
        /// The path.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The start folder is not visible to the program.
    #[error("{0:?} is not among the paths that the program may see")]
    FolderNotVisible(PathBuf),
    /// No folder in `PATH` contains the program, or the file is not visible in the sandbox.
    #[error("the program {0:?} does not exist, or is not visible in the sandbox")]
    NoProgram(PathBuf),
    /// The program of an external backend is not installed in a system folder.
    #[error("`{program}`, which this sandbox needs, is not installed in a system folder: {remedy}")]
    NoMaker {
        /// Name of the program.
        program: &'static str,
        /// How to install it.
        remedy: &'static str,
    },
    /// The file exists but cannot be executed.
    #[error("the program {program:?} cannot be run: {source}")]
    NotRun {
        /// The program.
        program: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Creating the sandbox failed.
    #[error("creating the sandbox failed at {step}: {source}")]
    Setup {
        /// The step that failed.
        step: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The helper process could not be started, or has ended.
    #[error("the sandbox helper cannot be used: {0}")]
    Helper(#[source] io::Error),
    /// The root file system for the program is missing; the message says what to do.
    #[error("{0}")]
    NoUserland(String),
    /// There is no sandbox for this operating system.
    #[error("there is no sandbox for this operating system")]
    Unsupported,
    /// The backend does not support an operation.
    #[error("the backend {backend} cannot {what}")]
    NotBy {
        /// Name of the backend.
        backend: &'static str,
        /// The unsupported operation.
        what: &'static str,
    },
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}
