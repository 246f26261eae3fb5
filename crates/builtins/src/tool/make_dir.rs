//! `make_dir`: creates a folder and its parents.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Assessment, CallCtx, Effect, Tool, ToolError, ToolOutput, ToolSpec};

use super::{aliases, blocking, examples, file_spec, on_changed_file, text_output};
use crate::fs::Workspace;

/// Handler of `make_dir`.
pub(crate) struct MakeDir {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Folder to create, relative to the workspace folder. Missing parents are created too.
    path: String,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "make_dir",
        "Make folder",
        "Make a folder in the workspace, with its parents. It is not an error when the folder exists.",
        true,
    );
    spec.effect = Effect::Idempotent;
    spec.parameter_aliases =
        aliases([("dir_path", "path"), ("directory", "path"), ("folder", "path")]);
    spec.examples = examples([("Make a folder for reports", json!({"path": "reports/2026"}))]);
    spec
}

impl Tool for MakeDir {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let summary = format!("make folder {}", args.path);
        on_changed_file(spec, self.workspace.roots(), &args.path, summary)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let (workspace, cancel) = (self.workspace.for_call(ctx), ctx.cancel.clone());
        blocking(move || {
            let changed = workspace.make_dir(&args.path, &cancel)?;
            Ok(text_output(match changed.entries {
                0 => format!("The folder {} exists already.", args.path),
                _ => format!("Made the folder {}", args.path),
            }))
        })
        .await
    }
}
