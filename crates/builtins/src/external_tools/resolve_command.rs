//! Resolves which program an external tool runs.

use std::ffi::OsStr;
use std::path::Path;

use toolcrib_sandbox::process::{DEFAULT_PATH, StartError, find_program};

use super::DefinitionError;

/// The default program if a definition names none; otherwise the only file that matches `run.*`.
const DEFAULT: &str = "run";

/// Checks the command of a definition, or finds the default.
pub(super) fn resolve(
    folder: &Path,
    given: Option<Vec<String>>,
) -> Result<Vec<String>, DefinitionError> {
    let command = match given {
        Some(command) => command,
        None => vec![format!("./{}", default(folder)?)],
    };
    let Some(program) = command.first().filter(|program| !program.trim().is_empty()) else {
        return Err(DefinitionError::new("key \"command\" names no program"));
    };
    match find_program(OsStr::new(program), folder, OsStr::new(DEFAULT_PATH)) {
        Ok(_) => Ok(command),
        Err(error) => Err(DefinitionError::new(start_error_message(program, folder, &error))),
    }
}

/// Describes a start failure without absolute paths of this machine.
pub(super) fn start_error_message(program: &str, folder: &Path, error: &StartError) -> String {
    let program = shown(program);
    match error {
        StartError::NotFound(_) if folder.join(program).is_file() && !program.contains('/') => {
            format!(
                "the program {program:?} is not in the PATH; the file beside tool.toml is \"./{program}\""
            )
        }
        StartError::NotFound(_) => format!("the program {program:?} does not exist"),
        StartError::NotExecutable(_) => {
            format!("the program {program:?} is not executable (chmod +x {program})")
        }
        StartError::NoInterpreter(_) => {
            format!("the interpreter that {program:?} names in its first line does not exist")
        }
        StartError::NotAProgram(_) => {
            format!("{program:?} is not a program; a script needs a first line such as #!/bin/sh")
        }
        StartError::NoFolder(_) => "its folder does not exist any more".to_owned(),
        StartError::TooLarge(_) => {
            "its configured values are larger than the system allows".to_owned()
        }
        other => format!("the program {program:?} cannot be started{}", cause(other)),
    }
}

fn cause(error: &StartError) -> String {
    use std::error::Error as _;
    error.source().map(|source| format!(": {source}")).unwrap_or_default()
}

/// Returns only the file name: an absolute path would reveal the machine's folder layout to the
/// model.
fn shown(program: &str) -> &str {
    let name = || program.rsplit('/').next().unwrap_or(program);
    if program.starts_with('/') { name() } else { program }
}

fn default(folder: &Path) -> Result<String, DefinitionError> {
    // The common case, without listing the folder.
    if folder.join(DEFAULT).is_file() {
        return Ok(DEFAULT.to_owned());
    }
    let missing = || {
        DefinitionError::new(
            "there is no command: add command = [\"./program\"], or an executable file named \"run\"",
        )
    };
    let entries = std::fs::read_dir(folder).map_err(|_| missing())?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok().filter(|entry| entry.path().is_file()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.split_once('.').is_some_and(|(stem, _)| stem == DEFAULT))
        .collect();
    names.sort_unstable();
    match names.as_slice() {
        [] => Err(missing()),
        [only] => Ok(only.clone()),
        several => Err(DefinitionError::new(format!(
            "there are several programs ({}): say which with command = [\"./{}\"]",
            several.join(", "),
            several.first().map_or(DEFAULT, String::as_str)
        ))),
    }
}
