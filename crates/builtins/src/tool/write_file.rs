//! `write_file`: writes a whole file, or appends to it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Assessment, CallCtx, Effect, Tool, ToolError, ToolOutput, ToolSpec};

use super::{
    blocking, examples, file_manager, file_spec, on_changed_file, path_aliases, text_output,
    with_undo_note, with_warning,
};
use crate::fs::Workspace;
use crate::patch::syntax_check;

/// Handler of `write_file`.
pub(crate) struct WriteFile {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// File to write, relative to the workspace folder. Missing folders are created.
    path: String,
    /// The text to write, as UTF-8.
    content: String,
    /// overwrite (default) replaces the whole file, append adds to its end.
    mode: Option<Mode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Overwrite,
    Append,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "write_file",
        "Write file",
        "Write text to a file in the workspace: a new file, a new content, or more at the end. To change a part of a file use edit_file.",
        true,
    );
    spec.aliases = file_manager(["write", "append"]);
    spec.alias_args = vec![("file_manager.append".to_owned(), json!({"mode": "append"}))];
    spec.parameter_aliases = path_aliases();
    spec.parameter_aliases.extend(super::aliases([("text", "content"), ("contents", "content")]));
    spec.examples = examples([
        ("Save a note", json!({"path": "notes/today.md", "content": "# Today\n"})),
        (
            "Add a line to the log",
            json!({"path": "log.txt", "content": "done\n", "mode": "append"}),
        ),
    ]);
    spec
}

impl Tool for WriteFile {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let append = args.mode == Some(Mode::Append);
        let verb = if append { "append to" } else { "write" };
        let summary = format!("{verb} {} ({} bytes)", args.path, args.content.len());
        let mut assessment = on_changed_file(spec, self.workspace.roots(), &args.path, summary)?;
        if !append {
            // Writing the same content twice has the same effect as once.
            assessment.effect = Effect::Idempotent;
        }
        Ok(assessment)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let (workspace, cancel) = (self.workspace.for_call(ctx), ctx.cancel.clone());
        blocking(move || {
            let Args { path, content, mode } = args;
            let is_whole = mode != Some(Mode::Append);
            let warning = is_whole.then(|| syntax_check::warning(&path, None, &content)).flatten();
            let content = content.as_bytes();
            let (changed, mode) = match mode.unwrap_or(Mode::Overwrite) {
                Mode::Overwrite => (workspace.overwrite(&path, content, &cancel)?, "overwrite"),
                Mode::Append => (workspace.append(&path, content, &cancel)?, "append"),
            };
            let text =
                format!("Successfully wrote {} bytes to {path} (mode: {mode})", content.len());
            let text = with_undo_note(text, changed.not_undoable.as_deref());
            Ok(text_output(with_warning(text, warning)))
        })
        .await
    }
}
