//! The library of a workspace, and the tools that it is checked against, for reading and for adding
//! to it.

use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_agent::library::{Folders, Library};
use toolcrib_app::{Toolcrib, runner};
use toolcrib_ops::library::{FileProblem, LibraryContext};

use crate::bootstrap;
use crate::clap_args::{LibraryArgs, WorkspaceArgs};
use crate::config::{self, Env};
use crate::output::{self, Failure};

/// The library that a run in this workspace would load.
pub(super) struct LibrarySnapshot {
    pub(super) toolcrib: Toolcrib,
    library: Arc<Library>,
    folders: Folders,
    workspace: PathBuf,
}

impl LibrarySnapshot {
    /// Loads the library.
    pub(super) fn load(places: &LibraryArgs, json: bool) -> Result<Self, Failure> {
        let args = WorkspaceArgs {
            workspace: places.workspace.clone(),
            tools: places.tools.clone(),
            ..WorkspaceArgs::default()
        };
        Self::load_for(args, json)
    }

    /// Loads the library for all arguments of a run.
    pub(super) fn load_for(mut args: WorkspaceArgs, json: bool) -> Result<Self, Failure> {
        let named = args.workspace.take().or_else(|| args.root.first().cloned());
        let workspace = std::path::absolute(named.unwrap_or_else(|| PathBuf::from(".")))?;
        let config = config::load(&Env::from_process(), Some(&workspace))?;
        let folders = bootstrap::library_folders(Some(&workspace), &config);
        args.workspace = Some(workspace.clone());
        let toolcrib = bootstrap::block_on(bootstrap::inspect_as_agent(&args, json))?;
        let library = Arc::new(runner::load_library(&toolcrib, &folders));
        Ok(Self { toolcrib, library, folders, workspace })
    }

    /// Returns the library.
    pub(super) fn library(&self) -> &Library {
        &self.library
    }

    /// Returns the context of operations on the library.
    pub(super) fn context(&self) -> LibraryContext<'_> {
        LibraryContext {
            toolcrib: &self.toolcrib,
            library: Arc::clone(&self.library),
            folders: &self.folders,
        }
    }

    /// Returns the folder for new files of this kind (`agents`, `skills`).
    pub(super) fn folder_for_new(&self, kind: &str, project: bool) -> Result<PathBuf, Failure> {
        folder_for_new(kind, project.then_some(&self.workspace))
    }
}

/// Returns the folder for new files of this kind: the workspace's, else the person's own.
pub(super) fn folder_for_new(kind: &str, workspace: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    if let Some(workspace) = workspace {
        return Ok(workspace.join(bootstrap::PROJECT_FOLDER).join(kind));
    }
    let own = bootstrap::config_folder().ok_or_else(|| {
        Failure::configuration(
            "there is no home folder to store it in; set TOOLCRIB_HOME to a folder",
        )
    })?;
    Ok(own.join(kind))
}

/// Prints the faults of broken files to standard error.
pub(super) fn print_problems(problems: &[FileProblem], json: bool) {
    problems.iter().for_each(|problem| output::warn(&problem.to_string(), json));
}

/// Renders a table for people: columns are as wide as their widest cell; the last one is not
/// padded.
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
