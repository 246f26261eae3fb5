//! Which program a folder runs.

use std::ffi::OsStr;
use std::path::Path;

use toolcrib_sandbox::process::{DEFAULT_PATH, StartError, look_up};

use super::Fault;

/// The program that is run when a definition names none; `run.ANYTHING` is taken where it is the only one.
const DEFAULT: &str = "run";

/// Checks the command of a definition, or finds the one that goes without saying.
pub(super) fn of(folder: &Path, given: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
    let command = match given {
        Some(command) => command,
        None => vec![format!("./{}", default(folder)?)],
    };
    let Some(program) = command.first().filter(|program| !program.trim().is_empty()) else {
        return Err(Fault::new("key \"command\" names no program"));
    };
    match look_up(OsStr::new(program), folder, OsStr::new(DEFAULT_PATH)) {
        Ok(_) => Ok(command),
        Err(error) => Err(Fault::new(words(program, folder, &error))),
    }
}

/// What is wrong with a program, without the paths of this machine.
pub(super) fn words(program: &str, folder: &Path, error: &StartError) -> String {
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
            format!("{program:?} is no program; a script needs a first line such as #!/bin/sh")
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

/// An absolute path tells a model nothing but the machine's folders.
fn shown(program: &str) -> &str {
    let name = || program.rsplit('/').next().unwrap_or(program);
    if program.starts_with('/') { name() } else { program }
}

fn default(folder: &Path) -> Result<String, Fault> {
    // The usual case, without listing the folder.
    if folder.join(DEFAULT).is_file() {
        return Ok(DEFAULT.to_owned());
    }
    let missing = || {
        Fault::new(
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
        several => Err(Fault::new(format!(
            "there are several programs ({}): say which with command = [\"./{}\"]",
            several.join(", "),
            several.first().map_or(DEFAULT, String::as_str)
        ))),
    }
}
