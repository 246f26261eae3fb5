//! `copy_path`: copies a file or folder.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Access, Assessment, CallCtx, Tool, ToolError, ToolOutput, ToolSpec};

use super::{
    aliases, blocking, examples, file_spec, lock_changed, on_file, text_output, with_undo_note,
};
use crate::fs::Workspace;

/// Handler of `copy_path`.
pub(crate) struct CopyPath {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// File or folder to copy, relative to the workspace folder.
    from: String,
    /// Full path of the copy. Missing folders are created.
    to: String,
    /// Whether an existing file at `to` is replaced. Default: false. A folder is never replaced.
    overwrite: Option<bool>,
}

/// Returns the aliases of the two path parameters.
pub(super) fn two_path_aliases() -> Vec<(String, String)> {
    aliases([
        ("source", "from"),
        ("src", "from"),
        ("from_path", "from"),
        ("destination", "to"),
        ("dest", "to"),
        ("to_path", "to"),
    ])
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "copy_path",
        "Copy file or folder",
        "Copy a file, or a folder with everything in it, inside the workspace.",
        true,
    );
    spec.parameter_aliases = two_path_aliases();
    spec.examples = examples([(
        "Keep a copy of the report",
        json!({"from": "report.md", "to": "archive/report-2026.md"}),
    )]);
    spec
}

impl Tool for CopyPath {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let summary = format!("copy {} to {}", args.from, args.to);
        let roots = self.workspace.roots();
        let from = on_file(spec, roots, &args.from, Access::Shared, summary);
        lock_changed(from, roots, &args.to)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let (workspace, cancel) = (self.workspace.for_call(ctx), ctx.cancel.clone());
        blocking(move || {
            let Args { from, to, overwrite } = args;
            let changed = workspace.copy(&from, &to, overwrite.unwrap_or(false), &cancel)?;
            let text = format!("Copied {from} to {to}");
            Ok(text_output(with_undo_note(text, changed.not_undoable.as_deref())))
        })
        .await
    }
}
