//! The options of `mcp add` and `mcp set` for the access of a server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toolcrib_app::mcp::client::{Pin, Remote, ServerConfig, Stdio, WorkspaceAccess};
use toolcrib_sandbox::HostRules;

use crate::clap_args::{McpAccess, McpPin, McpWorkspace};
use crate::output::Failure;

/// Applies these options to an entry.
pub(super) fn apply(config: &mut ServerConfig, access: &McpAccess) -> Result<(), Failure> {
    if let Some(seconds) = access.timeout {
        config.timeout = Duration::from_secs(seconds);
    }
    if let Some(pin) = access.pin {
        config.pin = match pin {
            McpPin::Definition => Pin::Definition,
            McpPin::Program => Pin::Program,
        };
    }
    for tool in &access.trust_results {
        if tool == "*" {
            config.workspace_results = true;
        } else if !config.workspace_tools.contains(tool) {
            config.workspace_tools.push(tool.clone());
        }
    }
    match &mut config.remote {
        Remote::Stdio(program) => apply_to_program(program, access),
        Remote::Http(_) if is_of_program(access) => Err(Failure::usage(format!(
            "{} is an address; --workspace, --read, --write, --allow-host and --memory are for programs",
            config.name
        ))),
        Remote::Http(_) => Ok(()),
    }
}

fn is_of_program(access: &McpAccess) -> bool {
    access.workspace_access.is_some()
        || access.memory.is_some()
        || !access.read.is_empty()
        || !access.write.is_empty()
        || !access.allow_host.is_empty()
}

fn apply_to_program(program: &mut Stdio, access: &McpAccess) -> Result<(), Failure> {
    if let Some(own) = access.workspace_access {
        program.workspace = match own {
            McpWorkspace::None => WorkspaceAccess::None,
            McpWorkspace::Read => WorkspaceAccess::Read,
            McpWorkspace::Write => WorkspaceAccess::Write,
        };
    }
    program.memory_mb = access.memory.or(program.memory_mb);
    for path in &access.read {
        add(&mut program.read, absolute(path)?);
    }
    for path in &access.write {
        add(&mut program.write, absolute(path)?);
    }
    HostRules::parse(&access.allow_host).map_err(|error| Failure::usage(error.to_string()))?;
    for host in &access.allow_host {
        add(&mut program.allow_hosts, host.clone());
    }
    Ok(())
}

fn add<T: PartialEq>(all: &mut Vec<T>, new: T) {
    if !all.contains(&new) {
        all.push(new);
    }
}

/// Returns an absolute path, so that a server finds it in any working folder.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize()
        .map_err(|error| Failure::usage(format!("{} cannot be given: {error}", path.display())))
}

/// Removes an entry from the lists; returns `false` if none contains it.
pub(super) fn remove(config: &mut ServerConfig, entry: &str) -> bool {
    let mut found = false;
    let mut kept = |same: bool| {
        found |= same;
        !same
    };
    if entry == "*" {
        kept(std::mem::take(&mut config.workspace_results));
    }
    config.workspace_tools.retain(|tool| kept(tool == entry));
    if let Remote::Stdio(program) = &mut config.remote {
        program.allow_hosts.retain(|host| kept(host == entry));
        let path = Path::new(entry).canonicalize().unwrap_or_else(|_| entry.into());
        program.read.retain(|own| kept(*own == path || own.as_os_str() == entry));
        program.write.retain(|own| kept(*own == path || own.as_os_str() == entry));
    }
    found
}
