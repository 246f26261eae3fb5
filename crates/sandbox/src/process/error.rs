//! Errors of starting a program without isolation.

use std::io;
use std::path::{Path, PathBuf};

/// Why a program could not be started; it has not run at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The file does not exist, or no folder in `PATH` contains the name.
    #[error("the program {0:?} does not exist")]
    NotFound(PathBuf),
    /// It is a folder, or a file without execute permission.
    #[error("the program {0:?} is not executable")]
    NotExecutable(PathBuf),
    /// The program exists, but the interpreter in its first line does not.
    #[error("the interpreter that {0:?} names in its first line does not exist")]
    NoInterpreter(PathBuf),
    /// It is neither an executable for this machine nor a script with a first line such as
    /// `#!/bin/sh`.
    #[error(
        "{0:?} is not executable on this machine; a script needs a first line such as #!/bin/sh"
    )]
    NotAProgram(PathBuf),
    /// The working folder cannot be used.
    #[error("the folder {0:?} that the program should run in does not exist")]
    NoFolder(PathBuf),
    /// Arguments and variables exceed the system's limit.
    #[error("the arguments and variables of {0:?} are larger than the system allows")]
    TooLarge(PathBuf),
    /// Any other error of the system.
    #[error("the program {0:?} could not be started: {1}")]
    Other(PathBuf, #[source] io::Error),
}

impl StartError {
    /// Converts an error of the start, given that the file exists.
    pub(super) fn from_io(error: io::Error, program: &Path) -> Self {
        let program = program.to_owned();
        // `ENOEXEC` and `E2BIG` are 8 and 7 on every Unix; the standard library names only the
        // second.
        match (error.kind(), error.raw_os_error()) {
            (io::ErrorKind::NotFound, _) => Self::NoInterpreter(program),
            (io::ErrorKind::PermissionDenied, _) => Self::NotExecutable(program),
            (io::ErrorKind::ArgumentListTooLong, _) => Self::TooLarge(program),
            (_, Some(8)) => Self::NotAProgram(program),
            _ => Self::Other(program, error),
        }
    }
}
