//! Puts into the entry of a server what its program needs to start in the sandbox, and says what
//! the program gets.

use std::path::Path;

use toolcrib_app::mcp::client::{LauncherKind, Remote, ServerConfig, Stdio, WorkspaceAccess};

use super::launchers::{self, Registries};
use super::program_paths::{self, PersonPaths};
use crate::terminal;

/// Prepares a new entry, if it is of a program. Relative paths are those of `folder`.
pub(crate) fn prepare(config: &mut ServerConfig, folder: Option<&Path>) {
    let Remote::Stdio(stdio) = &mut config.remote else { return };
    let mut person = PersonPaths::from_env();
    if let Some(folder) = folder {
        person.folder = folder.to_owned();
    }
    prepare_program(stdio, &person, &Registries::from_env());
}

fn prepare_program(stdio: &mut Stdio, person: &PersonPaths, registries: &Registries) {
    stdio.launcher = launchers::recognise(&stdio.command, &stdio.args, registries);
    for arg in &mut stdio.args {
        // The server is not started in the folder that this was typed in.
        let is_relative_path = Path::new(arg.as_str()).is_relative() && arg.contains(['.', '/']);
        if is_relative_path && let Ok(whole) = person.folder.join(&*arg).canonicalize() {
            *arg = whole.display().to_string();
        }
    }
    let program = person.find(&stdio.command);
    let mut read = program_paths::needed(program.as_deref(), &stdio.args, person);
    let of_program = program_paths::needed(program.as_deref(), &[], person);
    if let Some(launcher) = &stdio.launcher {
        let kind = launcher.kind;
        if kind == LauncherKind::Uvx
            && let Some(python) = person.find("python3")
        {
            read.extend(program_paths::needed(Some(&python), &[], person));
        }
        for (variable, value) in registries.certificates(kind) {
            if !stdio.env.iter().any(|(own, _)| *own == variable) {
                stdio.env.push((variable, value));
            }
        }
    }
    if let Some(program) = program.filter(|_| !of_program.is_empty()) {
        // It is found again without the person's own PATH.
        stdio.command = program.display().to_string();
    }
    for path in read {
        if !stdio.read.contains(&path) {
            stdio.read.push(path);
        }
    }
}

/// What the program gets, one line each.
pub(crate) fn needs_text(config: &ServerConfig) -> Vec<String> {
    let Remote::Stdio(program) = &config.remote else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(launcher) = &program.launcher {
        let package = &launcher.package;
        lines.push(match launcher.kind {
            LauncherKind::Docker => format!(
                "runs the image {package} with docker: what the container may do is up to docker, not to our sandbox"
            ),
            _ => format!(
                "fetches the package {package} from {} once, then runs it without that network",
                launcher.registry
            ),
        });
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
