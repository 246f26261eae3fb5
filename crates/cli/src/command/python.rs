//! `toolcrib python`: the packages of code execution.

use std::ffi::OsString;

use serde_json::{Value, json};
use toolcrib_app::python::{Environment, EnvironmentState, Interpreter, InterpreterError};
use toolcrib_app::python_environment;

use crate::cli::{Python, World};
use crate::output::{self, Failure};
use crate::world;

pub(super) fn run(command: Python, json: bool) -> Result<u8, Failure> {
    let environment = python_environment(&world::state_folder()?);
    match command {
        Python::Install => install(&environment, json),
        Python::Status => status(&environment, json),
        Python::Remove => remove(&environment, json),
    }
}

fn install(environment: &Environment, json: bool) -> Result<u8, Failure> {
    // The installer's settings, proxies and certificates are the person's.
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let python = world::block_on(async { find(&env).await.map_err(|error| missing(&error)) })?;
    output::remark(&format!("using {}", shown(&python)), json);
    environment.install(&python, &env).map_err(|error| {
        Failure::run(format!(
            "{error}; nothing of it is used. `toolcrib python install` begins anew"
        ))
    })?;
    status(environment, json)
}

fn remove(environment: &Environment, json: bool) -> Result<u8, Failure> {
    let was_there = environment.state() != EnvironmentState::Missing;
    environment.remove().map_err(|error| Failure::run(error.to_string()))?;
    if json {
        output::document(&json!({"removed": was_there}), true)?;
    } else {
        output::data(if was_there { "removed\n" } else { "nothing was installed\n" })?;
    }
    Ok(0)
}

fn status(environment: &Environment, json: bool) -> Result<u8, Failure> {
    let state = environment.state();
    let found = match &state {
        EnvironmentState::Ready { .. } => None,
        _ => Some(world::block_on(async { Ok(find(&world::python_variables()).await) })?),
    };
    let works = !matches!(found, Some(Err(_)));
    if json {
        output::document(&document(environment, &state, found.as_ref()), true)?;
    } else {
        output::data(&text(environment, &state, found.as_ref()))?;
    }
    Ok(u8::from(!works))
}

type Found = Result<Interpreter, InterpreterError>;

fn document(environment: &Environment, state: &EnvironmentState, found: Option<&Found>) -> Value {
    let packages = match state {
        EnvironmentState::Ready { packages, .. } => {
            packages.iter().map(|(name, version)| (name.clone(), json!(version))).collect()
        }
        _ => serde_json::Map::new(),
    };
    let python = match (state, found) {
        (EnvironmentState::Ready { python, .. }, _) => json!(python),
        (_, Some(Ok(python))) => json!(version(python)),
        _ => Value::Null,
    };
    json!({
        "python": python,
        "program": found.and_then(|found| found.as_ref().ok()).map(|python| &python.program),
        "problem": found.and_then(|found| found.as_ref().err()).map(ToString::to_string),
        "environment": {"state": word(state), "folder": environment.folder()},
        "packages": packages,
    })
}

fn text(environment: &Environment, state: &EnvironmentState, found: Option<&Found>) -> String {
    if let EnvironmentState::Ready { python, packages } = state {
        let packages: Vec<String> =
            packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let folder = environment.folder().display();
        return format!("Python {python} with {}, in {folder}\n", packages.join(", "));
    }
    let python = match found {
        Some(Ok(python)) => shown(python),
        Some(Err(error)) => format!("no Python for the level full: {error}"),
        None => String::new(),
    };
    let why = match state {
        EnvironmentState::Unfinished => "an installation was not finished",
        EnvironmentState::Outdated => "those of another version of Toolcrib are installed",
        _ => "they are not installed",
    };
    format!(
        "{python}\nwithout numpy, pandas and matplotlib: {why}; `toolcrib python install` installs them\n"
    )
}

fn word(state: &EnvironmentState) -> &'static str {
    match state {
        EnvironmentState::Ready { .. } => "ready",
        EnvironmentState::Unfinished => "unfinished",
        EnvironmentState::Outdated => "outdated",
        _ => "missing",
    }
}

/// The Python that is configured, else the first that works.
async fn find(env: &[(OsString, OsString)]) -> Found {
    match configured() {
        Some(program) => Interpreter::at(&program, env).await,
        None => Interpreter::find(env).await,
    }
}

fn configured() -> Option<std::path::PathBuf> {
    let config = world::configured(&world::somewhere(&World::default())).ok()?;
    world::python_program(&config)
}

fn version(python: &Interpreter) -> String {
    let (major, minor, patch) = python.version;
    format!("{major}.{minor}.{patch}")
}

fn shown(python: &Interpreter) -> String {
    format!("Python {}, {}", version(python), python.program.display())
}

fn missing(error: &InterpreterError) -> Failure {
    Failure::run(format!(
        "{error}; install Python 3.10 or newer, or name one as `python.program` in the configuration"
    ))
}
