//! `list_dir`: lists the content of a folder.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{
    Access, Assessment, CallCtx, CancellationToken, Tool, ToolError, ToolOutput, ToolSpec, Trust,
};

use super::{aliases, blocking, examples, file_spec, on_file};
use crate::fs::walk::{Limits, WalkAction, WalkEntry, walk};
use crate::fs::{FsError, FsErrorKind, LinkPolicy, NodeKind, Workspace, bounded_read};

/// Limits: one folder, the first 1,000 names in the order of the system.
const LIMITS: Limits = Limits { entries: 1000, depth: 0, time: Duration::from_secs(8) };
/// Limits of the search for a file that is missing at the given path: short, because it only adds a
/// hint.
const SEARCH: Limits = Limits { entries: 20_000, depth: 12, time: Duration::from_millis(500) };

/// Handler of `list_dir`.
pub(crate) struct ListDir {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Folder to list, relative to the workspace folder. Default: the workspace folder itself.
    path: Option<String>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "list_dir",
        "List folder",
        "List the files and folders in a folder of the workspace, hidden ones too, with sizes and link targets. At most 1,000 entries.",
        false,
    );
    spec.aliases = super::file_manager(["list"]);
    spec.parameter_aliases =
        aliases([("dir_path", "path"), ("directory", "path"), ("folder", "path"), ("dir", "path")]);
    spec.examples = examples([
        ("What files are here?", json!({})),
        ("What is in the source folder?", json!({"path": "src"})),
    ]);
    spec
}

impl Tool for ListDir {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let path = args.path.as_deref().unwrap_or(".");
        let summary = format!("list {path}");
        Ok(on_file(spec, self.workspace.roots(), path, Access::Shared, summary))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let (workspace, cancel) = (self.workspace.for_call(ctx), ctx.cancel.clone());
        blocking(move || {
            let path = args.path.unwrap_or_else(|| ".".to_owned());
            Ok(list(&workspace, &path, &cancel)?)
        })
        .await
    }
}

fn list(
    workspace: &Workspace,
    path: &str,
    cancel: &CancellationToken,
) -> Result<ToolOutput, FsError> {
    let roots = workspace.roots();
    let spot = roots.resolve(path, LinkPolicy::Follow)?;
    match spot.node {
        Some(NodeKind::Dir) => {}
        Some(_) => return Err(FsErrorKind::NotDir.at(path)),
        None => return Err(FsErrorKind::NotFound.at(path)),
    }
    let mut lines = String::new();
    let mut entries = Vec::new();
    let report = walk(roots, &spot, LIMITS, cancel, |item| {
        let (line, entry) = describe(item);
        // Writing to a `String` cannot fail.
        let _ = writeln!(lines, "{line}");
        entries.push(entry);
        Ok(WalkAction::Pass)
    })
    .map_err(|fault| fault.at(path))?;
    let mut text = match entries.len() {
        0 => format!("{path} is an empty folder.\n"),
        1 => format!("{path}: 1 entry\n"),
        n => format!("{path}: {n} entries\n"),
    };
    text.push_str(&lines);
    let note = report.stopped.map(|_| {
        "(There are more entries than are listed. Use find_files with a pattern.)".to_owned()
    });
    if let Some(note) = note.or_else(|| report.notes()) {
        text.push_str(&note);
    }
    let complete = report.stopped.is_none();
    Ok(ToolOutput::text(text.trim_end())
        .with_structured(json!({"path": path, "entries": entries, "complete": complete}))
        .with_origin(Trust::Workspace, path))
}

fn describe(item: &WalkEntry<'_>) -> (String, Value) {
    let name = item.name().to_string_lossy();
    match item.node {
        NodeKind::Dir => (format!("{name}/"), json!({"name": name, "type": "folder"})),
        NodeKind::File => {
            let bytes = bounded_read::size(item.stat);
            (
                format!("{name}  {bytes} bytes"),
                json!({"name": name, "type": "file", "bytes": bytes}),
            )
        }
        NodeKind::Link => {
            let target = item.target().unwrap_or_default();
            let line = format!("{name} -> {target}");
            (line, json!({"name": name, "type": "link", "target": target}))
        }
        NodeKind::Special(what) => {
            (format!("{name}  ({what})"), json!({"name": name, "type": what}))
        }
    }
}

/// Returns similar names in the folder of a missing path: equal except for case, or at most two
/// edits away.
pub(super) fn near_names(workspace: &Workspace, path: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    let Ok(spot) = workspace.roots().resolve(folder, LinkPolicy::Follow) else { return Vec::new() };
    let mut near = Vec::new();
    let _ = walk(workspace.roots(), &spot, LIMITS, &CancellationToken::new(), |item| {
        let found = item.name().to_string_lossy();
        if name.len() <= 100 && found.len() <= 100 && distance(name, &found) <= 2 {
            near.push(if folder == "." { found.into_owned() } else { format!("{folder}/{found}") });
        }
        Ok(if near.len() < 3 { WalkAction::Pass } else { WalkAction::Stop })
    });
    near
}

/// Returns the paths of files of this name in other folders of the workspace, at most three.
pub(super) fn same_name_elsewhere(workspace: &Workspace, path: &str) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Ok(spot) = workspace.roots().resolve(".", LinkPolicy::Follow) else { return Vec::new() };
    let mut found = Vec::new();
    let _ = walk(workspace.roots(), &spot, SEARCH, &CancellationToken::new(), |item| {
        if item.name().to_string_lossy().eq_ignore_ascii_case(name) {
            found.push(item.path.display().to_string());
        }
        Ok(if found.len() < 3 { WalkAction::Enter } else { WalkAction::Stop })
    });
    found
}

/// Returns the edit distance between two names, ignoring case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, &above) in b.iter().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(x != *y)).min(above + 1).min(left + 1);
            diagonal = above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}
