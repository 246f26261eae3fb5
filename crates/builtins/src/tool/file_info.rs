//! `file_info`: metadata of a path, without reading the file.

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolcrib_core::{Access, Assessment, CallCtx, Tool, ToolError, ToolOutput, ToolSpec, Trust};

use super::{blocking, examples, file_spec, on_file, path_aliases};
use crate::fs::{FsError, FsErrorKind, LinkPolicy, NodeKind, Workspace, bounded_read};

/// Handler of `file_info`.
pub(crate) struct FileInfo {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// File, link or folder, relative to the workspace folder.
    path: String,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "file_info",
        "Show file details",
        "Tell what a path in the workspace is: file, folder or link, its size, time of last change and permissions.",
        false,
    );
    spec.parameter_aliases = path_aliases();
    spec.examples = examples([("How large is the log?", json!({"path": "server.log"}))]);
    spec
}

impl Tool for FileInfo {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let summary = format!("look at {}", args.path);
        Ok(on_file(spec, self.workspace.roots(), &args.path, Access::Shared, summary))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let workspace = self.workspace.for_call(ctx);
        blocking(move || Ok(info(&workspace, &args.path)?)).await
    }
}

fn info(workspace: &Workspace, path: &str) -> Result<ToolOutput, FsError> {
    let roots = workspace.roots();
    let spot = roots.resolve(path, LinkPolicy::Itself)?;
    let node = spot.node.ok_or_else(|| FsErrorKind::NotFound.at(path))?;
    let stat = spot.stat().map_err(|fault| fault.at(path))?;
    let mut info = Map::new();
    info.insert("path".to_owned(), json!(path));
    info.insert("type".to_owned(), json!(word(node)));
    if node == NodeKind::File {
        info.insert("bytes".to_owned(), json!(bounded_read::size(&stat)));
    }
    if let Ok(modified) = Timestamp::new(stat.st_mtime, 0) {
        info.insert("modified".to_owned(), json!(modified.to_string()));
    }
    info.insert("permissions".to_owned(), json!(format!("{:03o}", stat.st_mode & 0o7777)));
    if node == NodeKind::File && stat.st_nlink > 1 {
        info.insert("hard_links".to_owned(), json!(stat.st_nlink));
    }
    if node == NodeKind::Link {
        info.insert("target".to_owned(), json!(spot.link_target()));
        info.insert("leads_to".to_owned(), link_target(roots.resolve(path, LinkPolicy::Follow)));
    }
    Ok(ToolOutput::structured(Value::Object(info)).with_origin(Trust::Workspace, path))
}

/// Renders the target of a link; for one outside the roots, only that it is outside.
fn link_target(target: Result<crate::fs::ResolvedPath, FsError>) -> Value {
    match target {
        Ok(spot) => spot.node.map_or(json!("nothing"), |node| json!(word(node))),
        Err(FsError { fault: FsErrorKind::NotFound, .. }) => json!("nothing"),
        Err(_) => json!("not allowed"),
    }
}

fn word(node: NodeKind) -> &'static str {
    match node {
        NodeKind::File => "file",
        NodeKind::Dir => "folder",
        NodeKind::Link => "link",
        NodeKind::Special(what) => what,
    }
}
