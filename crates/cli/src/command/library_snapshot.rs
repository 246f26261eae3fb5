//! The library of a place, and the tools that it is checked against, to be looked at and added to.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_app::agent::context::{CompactionRules, ContextWindows, Prices};
use toolcrib_app::agent::library::{Folder, Folders, Library, Location, Problem, Scope, ToolNames};
use toolcrib_app::runner::{Runner, RunnerSettings};

use crate::bootstrap;
use crate::clap_args::{LibraryArgs, WorkspaceArgs};
use crate::config::{self, Env};
use crate::output::{self, Failure};

/// What a run at this place would find.
pub(super) struct LibrarySnapshot {
    pub(super) toolcrib: Toolcrib,
    pub(super) library: Arc<Library>,
    pub(super) folders: Folders,
    /// The names of all tools, enabled or not.
    pub(super) tool_names: Vec<ToolNames>,
    workspace: PathBuf,
}

impl LibrarySnapshot {
    /// Looks around.
    pub(super) fn load(places: &LibraryArgs, json: bool) -> Result<Self, Failure> {
        let world = WorkspaceArgs {
            workspace: places.workspace.clone(),
            tools: places.tools.clone(),
            ..WorkspaceArgs::default()
        };
        Self::load_for(world, json)
    }

    /// The same for all arguments of a run.
    pub(super) fn load_for(mut world: WorkspaceArgs, json: bool) -> Result<Self, Failure> {
        let named = world.workspace.take().or_else(|| world.root.first().cloned());
        let workspace = std::path::absolute(named.unwrap_or_else(|| PathBuf::from(".")))?;
        let config = config::load(&Env::from_process(), Some(&workspace))?;
        let folders = bootstrap::library_folders(Some(&workspace), &config);
        world.workspace = Some(workspace.clone());
        let (toolcrib, library) = bootstrap::block_on(async {
            let toolcrib = bootstrap::inspect_as_agent(&world, json).await?;
            let library = load_library(&toolcrib, folders.clone())?;
            Ok((toolcrib, library))
        })?;
        let names = toolcrib.infos().into_iter().filter_map(|info| {
            let spec = toolcrib.spec(info.id.as_str())?;
            Some(ToolNames::from_spec(&spec, &info.source))
        });
        Ok(Self { tool_names: names.collect(), toolcrib, library, folders, workspace })
    }

    /// The library as it would be with other folders.
    pub(super) fn reload_library(&self, folders: Folders) -> Result<Arc<Library>, Failure> {
        load_library(&self.toolcrib, folders)
    }

    /// The folder for new things of this kind (`agents`, `skills`).
    pub(super) fn folder_for_new(&self, kind: &str, project: bool) -> Result<PathBuf, Failure> {
        folder_for_new(kind, project.then_some(&self.workspace))
    }

    /// What is wrong with the things of one kind.
    pub(super) fn problems(&self, kind: &str, folders: &[Folder]) -> Vec<&Problem> {
        let shipped = format!("built-in {kind}");
        let is_of = |problem: &&Problem| {
            problem.path.starts_with(&shipped)
                || folders.iter().any(|folder| problem.path.starts_with(&folder.path))
        };
        self.library.problems.iter().filter(is_of).collect()
    }
}

/// The folder for new things of this kind: the workspace's, else the person's own.
pub(super) fn folder_for_new(kind: &str, workspace: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    if let Some(workspace) = workspace {
        return Ok(workspace.join(bootstrap::PROJECT_FOLDER).join(kind));
    }
    let own = bootstrap::config_folder().ok_or_else(|| {
        Failure::configuration(
            "there is no home folder to keep it in; set TOOLCRIB_HOME to a folder",
        )
    })?;
    Ok(own.join(kind))
}

fn load_library(toolcrib: &Toolcrib, folders: Folders) -> Result<Arc<Library>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::configuration(error.to_string());
    let settings = RunnerSettings {
        folders,
        workspace: None,
        windows: Arc::new(ContextWindows::builtin().map_err(|error| wrong(&error))?),
        prices: Arc::new(Prices::builtin().map_err(|error| wrong(&error))?),
        compaction: CompactionRules::default(),
    };
    Ok(Runner::new(toolcrib.clone(), settings)?.library())
}

/// Says what is wrong with broken files, beside the data.
pub(super) fn print_problems(problems: &[&Problem], json: bool) {
    problems.iter().for_each(|problem| output::warn(&problem.to_string(), json));
}

/// Whose a thing is, in one word.
pub(super) fn origin_word(place: &Location) -> &'static str {
    match place.scope() {
        None => "built-in",
        Some(Scope::Server) => "server",
        Some(Scope::User) => "user",
        Some(Scope::Project) => "project",
    }
}

/// The members that say where a thing comes from.
pub(super) fn origin_fields(place: &Location) -> [(&'static str, Value); 2] {
    [("from", json!(origin_word(place))), ("path", json!(place.path()))]
}

/// A table for people: columns as wide as their widest cell, the last one as it is.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        rows.iter()
            .filter_map(|row| row.get(at))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
