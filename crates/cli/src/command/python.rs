//! `toolcrib python`: the packages of code execution.

use std::ffi::OsString;

use serde_json::{Value, json};
use toolcrib_app::python_environment;
use toolcrib_code_mode::{Interpreter, InterpreterError, VirtualEnv, VirtualEnvState};

use crate::bootstrap;
use crate::clap_args::{Python, WorkspaceArgs};
use crate::output::{self, Failure};

pub(super) fn run(command: Python, json: bool) -> Result<u8, Failure> {
    let environment = python_environment(&bootstrap::state_folder()?);
    match command {
        Python::Install => install(&environment, json),
        Python::Status => status(&environment, json),
        Python::Remove => remove(&environment, json),
    }
}

fn install(environment: &VirtualEnv, json: bool) -> Result<u8, Failure> {
    // The settings, proxies and certificates of the installer come from the person's environment.
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let python = bootstrap::block_on(async {
        find_interpreter(&env).await.map_err(|error| missing(&error))
    })?;
    output::warn(&format!("using {}", interpreter_path_text(&python)), json);
    environment.install(&python, &env).map_err(|error| {
        Failure::run(format!(
            "{error}; nothing of it is used. `toolcrib python install` begins anew"
        ))
    })?;
    status(environment, json)
}

fn remove(environment: &VirtualEnv, json: bool) -> Result<u8, Failure> {
    let was_there = environment.state() != VirtualEnvState::Missing;
    environment.remove().map_err(|error| Failure::run(error.to_string()))?;
    if json {
        output::print_json(&json!({"removed": was_there}), true)?;
    } else {
        output::print_line(if was_there { "removed\n" } else { "nothing was installed\n" })?;
    }
    Ok(0)
}

fn status(environment: &VirtualEnv, json: bool) -> Result<u8, Failure> {
    let state = environment.state();
    let found = match &state {
        VirtualEnvState::Ready { .. } => None,
        _ => Some(bootstrap::block_on(async {
            Ok(find_interpreter(&bootstrap::python_variables()).await)
        })?),
    };
    let works = !matches!(found, Some(Err(_)));
    if json {
        output::print_json(&status_json(environment, &state, found.as_ref()), true)?;
    } else {
        output::print_line(&status_text(environment, &state, found.as_ref()))?;
    }
    Ok(u8::from(!works))
}

type InterpreterResult = Result<Interpreter, InterpreterError>;

fn status_json(
    environment: &VirtualEnv,
    state: &VirtualEnvState,
    found: Option<&InterpreterResult>,
) -> Value {
    let packages = match state {
        VirtualEnvState::Ready { packages, .. } => {
            packages.iter().map(|(name, version)| (name.clone(), json!(version))).collect()
        }
        _ => serde_json::Map::new(),
    };
    let python = match (state, found) {
        (VirtualEnvState::Ready { python, .. }, _) => json!(python),
        (_, Some(Ok(python))) => json!(version(python)),
        _ => Value::Null,
    };
    json!({
        "python": python,
        "program": found.and_then(|found| found.as_ref().ok()).map(|python| &python.program),
        "problem": found.and_then(|found| found.as_ref().err()).map(ToString::to_string),
        "environment": {"state": state_word(state), "folder": environment.folder()},
        "packages": packages,
    })
}

fn status_text(
    environment: &VirtualEnv,
    state: &VirtualEnvState,
    found: Option<&InterpreterResult>,
) -> String {
    if let VirtualEnvState::Ready { python, packages } = state {
        let packages: Vec<String> =
            packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let folder = environment.folder().display();
        return format!("Python {python} with {}, in {folder}\n", packages.join(", "));
    }
    let python = match found {
        Some(Ok(python)) => interpreter_path_text(python),
        Some(Err(error)) => format!("no Python for the level full: {error}"),
        None => String::new(),
    };
    let why = match state {
        VirtualEnvState::Unfinished => "an installation was not finished",
        VirtualEnvState::Outdated => "those of another version of Toolcrib are installed",
        _ => "they are not installed",
    };
    format!(
        "{python}\nwithout numpy, pandas and matplotlib: {why}; `toolcrib python install` installs them\n"
    )
}

fn state_word(state: &VirtualEnvState) -> &'static str {
    match state {
        VirtualEnvState::Ready { .. } => "ready",
        VirtualEnvState::Unfinished => "unfinished",
        VirtualEnvState::Outdated => "outdated",
        _ => "missing",
    }
}

/// Returns the configured Python, else the first one that works.
async fn find_interpreter(env: &[(OsString, OsString)]) -> InterpreterResult {
    match configured() {
        Some(program) => Interpreter::inspect(&program, env).await,
        None => Interpreter::find(env).await,
    }
}

fn configured() -> Option<std::path::PathBuf> {
    let config =
        bootstrap::load_config(&bootstrap::or_current_dir(&WorkspaceArgs::default())).ok()?;
    bootstrap::python_program(&config)
}

fn version(python: &Interpreter) -> String {
    let (major, minor, patch) = python.version;
    format!("{major}.{minor}.{patch}")
}

fn interpreter_path_text(python: &Interpreter) -> String {
    format!("Python {}, {}", version(python), python.program.display())
}

fn missing(error: &InterpreterError) -> Failure {
    Failure::run(format!(
        "{error}; install Python 3.10 or newer, or name one as `python.program` in the configuration"
    ))
}
