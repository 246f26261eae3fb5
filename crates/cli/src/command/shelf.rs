//! The library of a place, and the tools that it is checked against, to be looked at and added to.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_app::agent::context::{CompactionRules, Prices, Windows};
use toolcrib_app::agent::library::{Folder, Folders, Library, Place, Problem, Scope, ToolNames};
use toolcrib_app::runner::{Runner, RunnerSettings};

use crate::cli::{Places, World};
use crate::config::{self, Env};
use crate::output::{self, Failure};
use crate::world;

/// What a run at this place would find.
pub(super) struct Shelf {
    pub(super) toolcrib: Toolcrib,
    pub(super) library: Arc<Library>,
    pub(super) folders: Folders,
    /// The names of all tools, enabled or not.
    pub(super) names: Vec<ToolNames>,
    workspace: PathBuf,
}

impl Shelf {
    /// Looks around.
    pub(super) fn open(places: &Places, json: bool) -> Result<Self, Failure> {
        let named = places.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
        let workspace = std::path::absolute(&named)?;
        let config = config::load(&Env::of_process(), Some(&workspace))?;
        let folders = world::library_folders(Some(&workspace), &config);
        let world = World {
            workspace: Some(workspace.clone()),
            tools: places.tools.clone(),
            ..World::default()
        };
        let (toolcrib, library) = world::block_on(async {
            let toolcrib = world::look_as_agent(&world, json).await?;
            let library = read(&toolcrib, folders.clone())?;
            Ok((toolcrib, library))
        })?;
        let names = toolcrib.infos().into_iter().filter_map(|info| {
            let spec = toolcrib.spec(info.id.as_str())?;
            Some(ToolNames::of(&spec, &info.source))
        });
        Ok(Self { names: names.collect(), toolcrib, library, folders, workspace })
    }

    /// The library as it would be with other folders.
    pub(super) fn read(&self, folders: Folders) -> Result<Arc<Library>, Failure> {
        read(&self.toolcrib, folders)
    }

    /// The folder for new things of this kind (`agents`, `skills`).
    pub(super) fn home(&self, kind: &str, project: bool) -> Result<PathBuf, Failure> {
        home(kind, project.then_some(&self.workspace))
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
pub(super) fn home(kind: &str, workspace: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    if let Some(workspace) = workspace {
        return Ok(workspace.join(world::PROJECT).join(kind));
    }
    let own = world::config_folder().ok_or_else(|| {
        Failure::configuration(
            "there is no home folder to keep it in; set TOOLCRIB_HOME to a folder",
        )
    })?;
    Ok(own.join(kind))
}

fn read(toolcrib: &Toolcrib, folders: Folders) -> Result<Arc<Library>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::configuration(error.to_string());
    let settings = RunnerSettings {
        folders,
        workspace: None,
        windows: Arc::new(Windows::builtin().map_err(|error| wrong(&error))?),
        prices: Arc::new(Prices::builtin().map_err(|error| wrong(&error))?),
        compaction: CompactionRules::default(),
    };
    Ok(Runner::new(toolcrib.clone(), settings)?.library())
}

/// Says what is wrong with broken files, beside the data.
pub(super) fn complain(problems: &[&Problem], json: bool) {
    problems.iter().for_each(|problem| output::remark(&problem.to_string(), json));
}

/// Whose a thing is, in one word.
pub(super) fn origin(place: &Place) -> &'static str {
    match place.scope() {
        None => "built-in",
        Some(Scope::Server) => "server",
        Some(Scope::User) => "user",
        Some(Scope::Project) => "project",
    }
}

/// The members that say where a thing comes from.
pub(super) fn place(place: &Place) -> [(&'static str, Value); 2] {
    [("from", json!(origin(place))), ("path", json!(place.path()))]
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
