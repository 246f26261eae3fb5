//! Adds to the entry of a server the access that its program needs to start in the sandbox, and
//! describes that access.

use std::path::Path;

use toolcrib_app::mcp::client::{LauncherKind, Remote, ServerConfig, Stdio, WorkspaceAccess};

use super::launchers::{self, Registries};
use super::program_paths::{self, PersonPaths};
use super::{database_files, docker_launcher};
use crate::terminal;

/// Prepares a new entry, if it is for a program. Relative paths are resolved in `folder`.
pub(crate) fn prepare(config: &mut ServerConfig, folder: Option<&Path>) {
    prepare_launcher(config, folder);
    prepare_databases(config, folder);
}

/// Prepares only the program; [`prepare_databases`] follows after the person's options were applied
/// to the entry.
pub(super) fn prepare_launcher(config: &mut ServerConfig, folder: Option<&Path>) {
    let Remote::Stdio(stdio) = &mut config.remote else { return };
    prepare_program(stdio, &person(folder), &Registries::from_env());
}

/// Grants access to the databases in the command line.
pub(super) fn prepare_databases(config: &mut ServerConfig, folder: Option<&Path>) {
    database_files::give_access(config, &person(folder));
}

fn person(folder: Option<&Path>) -> PersonPaths {
    let person = PersonPaths::from_env();
    match folder {
        Some(folder) => PersonPaths { folder: folder.to_owned(), ..person },
        None => person,
    }
}

fn prepare_program(stdio: &mut Stdio, person: &PersonPaths, registries: &Registries) {
    stdio.launcher = launchers::recognise(&stdio.command, &stdio.args, registries);
    for arg in &mut stdio.args {
        // The server is not started in the current folder of this command.
        let is_relative_path = Path::new(arg.as_str()).is_relative() && arg.contains(['.', '/']);
        if is_relative_path && let Ok(whole) = person.folder.join(&*arg).canonicalize() {
            *arg = whole.display().to_string();
        }
    }
    let program = person.find(&stdio.command);
    let mut read = program_paths::needed(program.as_deref(), &stdio.args, person);
    let of_program = program_paths::needed(program.as_deref(), &[], person);
    if let Some(kind) = stdio.launcher.as_ref().map(|own| own.kind) {
        if kind == LauncherKind::Uvx {
            read.extend(program_paths::needed_by_uvx(program.as_deref(), person));
            if let Some(folder) = &person.uv_pythons {
                // The program has another home folder, where uv would find no Python.
                set_variable(stdio, "UV_PYTHON_INSTALL_DIR", &folder.display().to_string());
            }
        }
        if kind == LauncherKind::Docker {
            let told = registries.variable(&["DOCKER_HOST"]);
            if let Some(socket) = docker_launcher::socket(told.as_deref(), person.home.as_deref()) {
                set_variable(stdio, "DOCKER_HOST", &format!("unix://{}", socket.display()));
                read.push(socket);
            }
        }
        for (variable, value) in registries.certificates(kind) {
            set_variable(stdio, &variable, &value);
        }
    }
    if let Some(program) = program.filter(|_| !of_program.is_empty()) {
        // With its full path, the program is found without the person's PATH.
        stdio.command = program.display().to_string();
    }
    for path in read {
        if !stdio.read.contains(&path) {
            stdio.read.push(path);
        }
    }
}

/// Sets a variable of the program, unless the person set one with this name.
fn set_variable(stdio: &mut Stdio, name: &str, value: &str) {
    if !stdio.env.iter().any(|(own, _)| own == name) {
        stdio.env.push((name.to_owned(), value.to_owned()));
    }
}

/// Describes the access of the program, one line per item.
pub(crate) fn needs_text(config: &ServerConfig) -> Vec<String> {
    let Remote::Stdio(program) = &config.remote else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(launcher) = &program.launcher {
        let package = &launcher.package;
        lines.push(match launcher.kind {
            LauncherKind::Docker => format!(
                "runs the image {package} with docker, outside of this sandbox: a program that may use docker can change everything on this machine"
            ),
            _ => format!(
                "fetches the package {package} from {} once, then runs it without that network",
                launcher.registry
            ),
        });
    }
    if program.launcher.as_ref().is_some_and(|own| own.kind == LauncherKind::Docker) {
        let given = docker_launcher::given_to_container(&program.args);
        lines.extend(given.iter().map(|option| format!("gives the container {option}")));
    }
    let workspace = match program.workspace {
        WorkspaceAccess::None => "does not see the workspace",
        WorkspaceAccess::Read => "reads the workspace, after its review",
        WorkspaceAccess::Write => "changes the workspace, after its review",
    };
    lines.push(workspace.to_owned());
    lines.extend(program.read.iter().map(|path| format!("reads {}", path.display())));
    lines.extend(program.write.iter().map(|path| format!("changes {}", path.display())));
    lines.extend(program.allow_hosts.iter().map(|host| format!("reaches {host}")));
    if program.network {
        lines.push("has the network that programs may use".to_owned());
    } else if program.allow_hosts.is_empty() {
        lines.push("has no network".to_owned());
    }
    lines.into_iter().map(|line| terminal::escape_to_line(&line)).collect()
}
