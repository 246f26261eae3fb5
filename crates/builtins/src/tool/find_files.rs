//! `find_files`: finds paths that match a glob pattern.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Access, Assessment, CallCtx, CancellationToken, Tool, ToolError, ToolOutput, ToolSpec, Trust,
};

use super::{aliases, blocking, examples, file_spec, on_file};
use crate::fs::walk::{Limits, WalkAction, walk};
use crate::fs::{FsErrorKind, LinkPolicy, NodeKind, Workspace};

/// Limits of the walk; its time is below the 10 s of the tool.
const LIMITS: Limits = Limits { entries: 200_000, depth: 64, time: Duration::from_secs(8) };
/// Maximum number of paths in one result.
const MAX_FOUND: usize = 1000;
/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 1000;
/// Folders of other programs that are listed but not searched, unless the search starts in them.
pub(super) const NOT_SEARCHED: &[&str] =
    &[".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"];

/// Handler of `find_files`.
pub(crate) struct FindFiles {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Glob pattern: *.md matches names in every folder, src/**/*.rs paths below the searched
    /// folder. {a,b}, ? and [a-z] work too.
    #[schemars(length(min = 1))]
    pattern: String,
    /// Folder to search, relative to the workspace folder. Default: the workspace folder itself.
    path: Option<String>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "find_files",
        "Find files",
        "Find files and folders of the workspace by a glob pattern, hidden ones too. Does not follow links or look into .git, node_modules and the like unless path points there. At most 1,000 results.",
        false,
    );
    spec.parameter_aliases = aliases([
        ("glob", "pattern"),
        ("query", "pattern"),
        ("directory", "path"),
        ("dir", "path"),
    ]);
    spec.examples = examples([
        ("Find all Markdown files", json!({"pattern": "*.md"})),
        ("Find the tests of the parser", json!({"pattern": "**/parser*test*", "path": "src"})),
    ]);
    spec
}

impl Tool for FindFiles {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let path = args.path.as_deref().unwrap_or(".");
        let summary = format!("find {} in {path}", args.pattern);
        Ok(on_file(spec, self.workspace.roots(), path, Access::Shared, summary))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let (workspace, cancel) = (self.workspace.for_call(ctx), ctx.cancel.clone());
        blocking(move || find(&workspace, &args, &cancel)).await
    }
}

/// A pattern, and whether it applies to names or to paths.
pub(super) struct Pattern {
    glob: GlobMatcher,
    names_only: bool,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self, ToolError> {
        let wrong = |why: String| {
            ToolError::validation(format!(
                "The pattern cannot be used: {why}. Write a glob such as *.md or src/**/*.rs."
            ))
        };
        if text.len() > MAX_PATTERN {
            return Err(wrong(format!("it is longer than {MAX_PATTERN} bytes")));
        }
        let pattern = text.trim_start_matches("./");
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| wrong(error.kind().to_string()))?
            .compile_matcher();
        Ok(Self { glob, names_only: !pattern.contains('/') })
    }

    pub(super) fn matches(&self, path: &Path) -> bool {
        let subject = if self.names_only { path.file_name().map(Path::new) } else { Some(path) };
        subject.is_some_and(|subject| self.glob.is_match(subject))
    }
}

fn find(
    workspace: &Workspace,
    args: &Args,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let start = args.path.as_deref().unwrap_or(".");
    let pattern = Pattern::new(&args.pattern)?;
    let roots = workspace.roots();
    let spot = roots.resolve(start, LinkPolicy::Follow)?;
    match spot.node {
        Some(NodeKind::Dir) => {}
        Some(_) => return Err(FsErrorKind::NotDir.at(start).into()),
        None => return Err(FsErrorKind::NotFound.at(start).into()),
    }
    let mut found = Vec::new();
    let mut skipped = 0;
    let report = walk(roots, &spot, LIMITS, cancel, |item| {
        if pattern.matches(item.path) {
            if found.len() == MAX_FOUND {
                return Ok(WalkAction::Stop);
            }
            let slash = if item.node == NodeKind::Dir { "/" } else { "" };
            found.push(format!("{}{slash}", Path::new(start).join(item.path).display()));
        }
        if item.node == NodeKind::Dir && NOT_SEARCHED.iter().any(|n| item.name() == *n) {
            skipped += 1;
            return Ok(WalkAction::Pass);
        }
        Ok(WalkAction::Enter)
    })
    .map_err(|fault| ToolError::from(fault.at(start)))?;
    for path in &mut found {
        if let Some(plain) = path.strip_prefix("./") {
            *path = plain.to_owned();
        }
    }
    let cut = found.len() == MAX_FOUND;
    let mut text = match found.len() {
        0 => format!("Nothing matches {} in {start}.", args.pattern),
        _ => found.join("\n"),
    };
    if cut {
        text.push_str(&format!(
            "\n(Stopped at {MAX_FOUND} results; there may be more. Use a narrower pattern or path.)"
        ));
    }
    if let Some(notes) = report.notes() {
        text.push_str(&format!("\n{notes}"));
    }
    if skipped > 0 {
        text.push_str(&format!(
            "\n({skipped} folders such as .git or node_modules were not searched. Give one as path to search it.)"
        ));
    }
    let complete = !cut && report.is_complete() && skipped == 0;
    Ok(ToolOutput::text(text)
        .with_structured(json!({"paths": found, "complete": complete}))
        .with_origin(Trust::Workspace, start))
}
