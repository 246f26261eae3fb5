//! `toolcrib daemon service`: runs the daemon as a service of the system.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::bootstrap;
use crate::clap_args::{ServiceCommand, ServiceInstall};
use crate::config::Env;
use crate::output::{self, Failure};
use crate::service::{Service, ServiceManager};

pub(super) fn run(command: &ServiceCommand, json: bool) -> Result<u8, Failure> {
    let manager = ServiceManager::detect();
    match command {
        ServiceCommand::Install(command) => install(manager, command, json),
        ServiceCommand::Uninstall => uninstall(manager, json),
        ServiceCommand::Status => manager.status(),
        ServiceCommand::Start => {
            manager.start()?;
            print_done("started the service", json)
        }
        ServiceCommand::Stop => {
            manager.stop()?;
            print_done("stopped the service", json)
        }
        ServiceCommand::Logs { lines, follow } => manager.logs(*lines, *follow),
    }
}

fn print_done(what: &str, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!({"done": what}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {what}"));
    }
    Ok(0)
}

fn install(manager: ServiceManager, command: &ServiceInstall, json: bool) -> Result<u8, Failure> {
    let service = service_from_args(command)?;
    let text = manager.definition(&service)?;
    if command.print {
        output::print_raw(&text)?;
        return Ok(0);
    }
    let path = manager.path()?;
    let is_other = fs::read_to_string(&path).is_ok_and(|old| old != text);
    if is_other && !command.force {
        return Err(Failure::usage(format!(
            "{} already exists with other contents; --force overwrites it",
            path.display()
        )));
    }
    manager.check_reachable()?;
    let unwritable = |error: std::io::Error| Failure::run(format!("{}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(unwritable)?;
    }
    // The folders that the unit may write must exist when it starts.
    for folder in &service.writes {
        fs::create_dir_all(folder).map_err(unwritable)?;
    }
    fs::write(&path, text).map_err(unwritable)?;
    output::warn(&format!("{} is written", path.display()), json);
    manager.install()?;
    print_done("the service is running, and starts at every login", json)
}

fn uninstall(manager: ServiceManager, json: bool) -> Result<u8, Failure> {
    let path = manager.path()?;
    if !path.exists() {
        return Err(Failure::not_found(format!(
            "the service is not installed: {} does not exist",
            path.display()
        )));
    }
    // The file of the service is removed even if no service manager remains to stop it.
    let stopped = manager.uninstall();
    fs::remove_file(&path).map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
    stopped?;
    print_done("removed the service; your data remains", json)
}

fn service_from_args(command: &ServiceInstall) -> Result<Service, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::run(format!("cannot determine the path of this program: {error}"))
    })?;
    let named: Vec<PathBuf> = command.workspace.iter().cloned().collect();
    let workspace = bootstrap::resolve_roots(&named)?.into_iter().next().unwrap_or_default();
    let workspace = workspace
        .canonicalize()
        .map_err(|error| Failure::usage(format!("{}: {error}", workspace.display())))?;
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let state = absolute(bootstrap::state_folder()?);
    let config = bootstrap::config_folder().map(absolute);
    let mut writes = vec![workspace.clone(), state];
    writes.extend(config);
    let home = Env::from_process().path("TOOLCRIB_HOME").map(absolute);
    Ok(Service { program, workspace, home, writes })
}
