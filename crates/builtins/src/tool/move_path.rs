//! `move_path`: moves or renames a file, link or folder.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Access, Assessment, CallCtx, Tool, ToolError, ToolOutput, ToolSpec};

use super::copy_path::two_path_aliases;
use super::{blocking, examples, file_spec, lock_changed, on_file, text_output, with_undo_note};
use crate::fs::Workspace;

/// Handler of `move_path`.
pub(crate) struct MovePath {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// File, link or folder to move, relative to the workspace folder.
    from: String,
    /// Full new path. Missing folders are created.
    to: String,
    /// Whether an existing file at `to` is replaced. Default: false. A folder is never replaced.
    overwrite: Option<bool>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "move_path",
        "Move or rename",
        "Move or rename a file or folder inside the workspace. A symbolic link is moved itself.",
        true,
    );
    spec.parameter_aliases = two_path_aliases();
    spec.examples = examples([("Rename the draft", json!({"from": "draft.md", "to": "final.md"}))]);
    spec
}

impl Tool for MovePath {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let summary = format!("move {} to {}", args.from, args.to);
        let roots = self.workspace.roots();
        let from = on_file(spec, roots, &args.from, Access::Exclusive, summary);
        lock_changed(from, roots, &args.to)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let (workspace, cancel) = (self.workspace.for_call(ctx), ctx.cancel.clone());
        blocking(move || {
            let Args { from, to, overwrite } = args;
            let changed = workspace.rename(&from, &to, overwrite.unwrap_or(false), &cancel)?;
            let text = format!("Moved {from} to {to}");
            Ok(text_output(with_undo_note(text, changed.not_undoable.as_deref())))
        })
        .await
    }
}
