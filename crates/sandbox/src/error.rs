//! Why nothing was started.

use std::io;
use std::path::PathBuf;

use crate::Level;

/// Why a program was not started; nothing of it has run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The host cannot give the level that the policy asks for.
    #[error("this host gives the level {strongest}, and at least {minimum} is asked for{}", because(.reason))]
    BelowMinimum {
        /// What is asked for.
        minimum: Level,
        /// The strongest that could be had.
        strongest: Level,
        /// Why the next stronger one could not.
        reason: String,
    },
    /// Something of the policy cannot be kept at the level that the host gives.
    #[error("at the level {level}, which is what this host gives, {what} cannot be kept")]
    CannotHold {
        /// The level.
        level: Level,
        /// What cannot be kept.
        what: &'static str,
    },
    /// A path of the policy or the folder to start in is not there, or cannot be used.
    #[error("{path:?} cannot be used: {source}")]
    Path {
        /// The path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The folder to start in is not among what the program sees.
    #[error("{0:?} is not among the paths that the program may see")]
    FolderNotVisible(PathBuf),
    /// A program of this name is not in any folder of its `PATH`, or no such file is visible.
    #[error("the program {0:?} does not exist, or is not visible in the sandbox")]
    NoProgram(PathBuf),
    /// The program that makes the walls is not in the folders of the system.
    #[error(
        "`{program}`, which makes this sandbox, is not installed in the folders of the system: {remedy}"
    )]
    NoMaker {
        /// Its name.
        program: &'static str,
        /// How it is had.
        remedy: &'static str,
    },
    /// The file is there and cannot be run.
    #[error("the program {program:?} cannot be run: {source}")]
    NotRun {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A step of making the sandbox failed.
    #[error("making the sandbox failed at {step}: {source}")]
    Setup {
        /// What was done.
        step: String,
        /// What the system says.
        source: io::Error,
    },
    /// The helper process could not be started, or is gone.
    #[error("the sandbox helper cannot be used: {0}")]
    Helper(#[source] io::Error),
    /// The system that the program was to run in is not there, and what is to be done about it.
    #[error("{0}")]
    NoUserland(String),
    /// This system has no sandbox of ours.
    #[error("there is no sandbox for this system")]
    Unsupported,
    /// The backend cannot do that.
    #[error("the backend {backend} cannot {what}")]
    NotBy {
        /// Its name.
        backend: &'static str,
        /// What it cannot do.
        what: &'static str,
    },
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}
