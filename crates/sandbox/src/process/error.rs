//! Why a program could not be started.

use std::io;
use std::path::{Path, PathBuf};

/// Why a program could not be started; it has not run at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// No file of this path, or none of this name in any folder of `PATH`.
    #[error("the program {0:?} does not exist")]
    NotFound(PathBuf),
    /// A folder, or a file without the right to be executed.
    #[error("the program {0:?} is not executable")]
    NotExecutable(PathBuf),
    /// The program exists, what it names in its first line does not.
    #[error("the interpreter that {0:?} names in its first line does not exist")]
    NoInterpreter(PathBuf),
    /// Neither a program of this machine nor a script with a first line such as `#!/bin/sh`.
    #[error(
        "{0:?} is no program that this machine can run; a script needs a first line such as #!/bin/sh"
    )]
    NotAProgram(PathBuf),
    /// The folder that it should run in cannot be used.
    #[error("the folder {0:?} that the program should run in does not exist")]
    NoFolder(PathBuf),
    /// Arguments and variables exceed what the system passes on.
    #[error("the arguments and variables of {0:?} are larger than the system allows")]
    TooLarge(PathBuf),
    /// Anything else that the system says.
    #[error("the program {0:?} could not be started: {1}")]
    Other(PathBuf, #[source] io::Error),
}

impl StartError {
    /// What an error of the start itself means, when the file is known to be there.
    pub(super) fn of(error: io::Error, program: &Path) -> Self {
        let program = program.to_owned();
        // `ENOEXEC` and `E2BIG` are 8 and 7 on every Unix; the standard library names only the second.
        match (error.kind(), error.raw_os_error()) {
            (io::ErrorKind::NotFound, _) => Self::NoInterpreter(program),
            (io::ErrorKind::PermissionDenied, _) => Self::NotExecutable(program),
            (io::ErrorKind::ArgumentListTooLong, _) => Self::TooLarge(program),
            (_, Some(8)) => Self::NotAProgram(program),
            _ => Self::Other(program, error),
        }
    }
}
