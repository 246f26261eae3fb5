//! The folders of tools, agents, skills, kits and guides: those of the person and of the workspace.

use std::env;
use std::path::{Path, PathBuf};

use toolcrib_agent::library::{Folder, Folders, Scope};
use toolcrib_app::ToolFolder;

use crate::clap_args::WorkspaceArgs;
use crate::config::{Config, Env};
use crate::folders::{PROJECT_FOLDER, config_folder};
use crate::mcp_servers_file::mcp_servers;

/// Returns the folders of tools: the person's own, the workspace's, and the named ones. The author
/// of a workspace is unknown, so its tools never count as harmless, unless the owner trusts it.
pub(crate) fn tool_folders(world: &WorkspaceArgs, config: &Config) -> Vec<ToolFolder> {
    let own = config_folder().map(|folder| ToolFolder::new("own", folder.join("tools")));
    let workspace = world.root.first().map(|root| {
        let folder = ToolFolder::new("workspace", root.join(PROJECT_FOLDER).join("tools"));
        if config.is_trusted_workspace(root, &Env::from_process()) {
            folder
        } else {
            folder.untrusted()
        }
    });
    let named = world.tools.iter().enumerate().map(|(at, path)| {
        let id = if at == 0 { "tools".to_owned() } else { format!("tools-{}", at + 1) };
        ToolFolder::new(id, path)
    });
    // The first tool with a name keeps it: a workspace cannot replace the person's tools.
    own.into_iter().chain(named).chain(workspace).collect()
}

/// Returns the folders of agents, skills, kits and guides: the person's and the workspace's.
pub(crate) fn library_folders(workspace: Option<&Path>, config: &Config) -> Folders {
    let trusted =
        workspace.is_some_and(|root| config.is_trusted_workspace(root, &Env::from_process()));
    let mut folders = Folders { trusted, ..Folders::default() };
    let mut add = |scope: Scope, base: &Path| {
        let folder = |name: &str| Folder { scope, path: base.join(name) };
        folders.agents.push(folder("agents"));
        folders.skills.push(folder("skills"));
        folders.kits.push(folder("kits"));
        folders.guides.push(folder("guides"));
    };
    if let Some(own) = config_folder() {
        add(Scope::User, &own);
    }
    if let Some(workspace) = workspace {
        add(Scope::Project, &workspace.join(PROJECT_FOLDER));
    }
    if let Some(own) = config_folder() {
        folders.skills.extend(skills_of_servers(&own));
    }
    // Folders that similar programs share (Agent Skills).
    let shared = [".agents", ".claude"];
    let home = env::home_dir().filter(|_| env::var_os("TOOLCRIB_HOME").is_none());
    for (scope, base) in [(Scope::User, home.as_deref()), (Scope::Project, workspace)] {
        let Some(base) = base else { continue };
        let skills = shared.iter().map(|name| base.join(name).join("skills"));
        folders.skills.extend(skills.map(|path| Folder { scope, path }));
    }
    folders
}

/// Returns the folder of skills that were installed from MCP servers, with a subfolder for each
/// server, so that no server replaces the skills of another.
pub(crate) fn server_skills(config: &Path) -> PathBuf {
    config.join("server-skills")
}

/// Returns the folders of servers that still exist.
fn skills_of_servers(config: &Path) -> Vec<Folder> {
    let base = server_skills(config);
    if !base.is_dir() {
        return Vec::new();
    }
    let servers = mcp_servers().unwrap_or_default();
    let folder = |name: &str| Folder { scope: Scope::Server, path: base.join(name) };
    servers
        .iter()
        .filter(|server| server.enabled)
        .map(|server| folder(server.name.as_str()))
        .collect()
}
