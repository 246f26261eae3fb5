//! `delete_file`: deletes a file, link or folder; undo restores it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Access, Assessment, CallCtx, Effect, Risk, Tool, ToolError, ToolOutput, ToolSpec,
};

use super::{blocking, examples, file_spec, on_file, path_aliases, text_output, with_undo_note};
use crate::fs::Workspace;

/// Handler of `delete_file`.
pub(crate) struct DeleteFile {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// File, link or folder to delete, relative to the workspace folder. A link is deleted, not its
    /// target.
    path: String,
    /// Whether to delete a folder with its contents. Default: false, which deletes only empty
    /// folders.
    recursive: Option<bool>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "delete_file",
        "Delete file or folder",
        "Delete a file, a symbolic link or a folder in the workspace. A person can undo it.",
        true,
    );
    spec.risk = Risk::High;
    spec.effect = Effect::Destructive;
    spec.aliases = super::file_manager(["delete"]);
    spec.parameter_aliases = path_aliases();
    spec.examples = examples([
        ("Delete the old draft", json!({"path": "draft-old.md"})),
        ("Delete the build folder", json!({"path": "build", "recursive": true})),
    ]);
    spec
}

impl Tool for DeleteFile {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let all = if args.recursive == Some(true) { " and everything in it" } else { "" };
        let summary = format!("delete {}{all}", args.path);
        Ok(on_file(spec, self.workspace.roots(), &args.path, Access::Exclusive, summary))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let (workspace, cancel) = (self.workspace.for_call(ctx), ctx.cancel.clone());
        blocking(move || {
            let changed = workspace.delete(&args.path, args.recursive.unwrap_or(false), &cancel)?;
            let text = match changed.entries {
                0 | 1 => format!("Deleted {}", args.path),
                n => format!("Deleted {} ({n} entries)", args.path),
            };
            Ok(text_output(with_undo_note(text, changed.not_undoable.as_deref())))
        })
        .await
    }
}
