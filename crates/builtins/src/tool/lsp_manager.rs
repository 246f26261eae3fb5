//! `lsp_manager`: code intelligence through language servers.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Assessment, CallCtx, Permission, Tool, ToolError, ToolOutput, ToolSpec, Trust,
};

use super::{examples, file_spec};
use crate::fs::Workspace;
use crate::lsp::{Action, Query, Servers};
use crate::ruff;

/// Longest new name of a rename.
const MAX_NAME: usize = 200;

/// Handler of `lsp_manager`.
pub(crate) struct LspManager {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) servers: Servers,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// definition, hover, references or rename of a name; diagnostics or symbols of a file;
    /// ruff_check of Python files.
    action: Action,
    /// Source file. ruff_check takes a folder too. Default of ruff_check: the whole project.
    file: Option<String>,
    /// Line of the name, from 0: one less than in listings.
    line: Option<u32>,
    /// Character in the line, from 0; or give symbol.
    character: Option<u32>,
    /// The name, instead of character; without line, its first occurrence in the file. For symbols:
    /// a name to find in the whole project.
    symbol: Option<String>,
    /// For rename: the new name.
    new_name: Option<String>,
    /// Folder of the project. Default: the outermost project around the file.
    project_root: Option<String>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "lsp_manager",
        "Ask a language server",
        "Ask a language server about code: where a name is defined or used, what it is, what is wrong in a file, what a file defines, what a rename would change. Rust, Python, Go, TypeScript, JavaScript.",
        false,
    );
    spec.group = Some("code".to_owned());
    spec.permissions.push(Permission::Exec);
    // The first call waits for the server to load the project.
    spec.timeout = std::time::Duration::from_secs(60);
    spec.parameter_aliases = super::aliases([
        ("path", "file"),
        ("file_path", "file"),
        ("column", "character"),
        ("name", "symbol"),
        ("query", "symbol"),
    ]);
    spec.examples = examples([
        (
            "Where is parse_config defined?",
            json!({"action": "definition", "file": "src/main.rs", "symbol": "parse_config"}),
        ),
        ("What is wrong with this file?", json!({"action": "diagnostics", "file": "app/views.py"})),
        (
            "What would renaming Store to Shop change?",
            json!({"action": "rename", "file": "src/store.ts", "symbol": "Store", "new_name": "Shop"}),
        ),
    ]);
    spec
}

impl Tool for LspManager {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        check(args)?;
        let action = args.action.as_str();
        let about = args.file.as_deref().or(args.project_root.as_deref()).unwrap_or("the project");
        let mut assessment =
            Assessment::from_spec(spec).with_summary(format!("{action} of {about}"));
        assessment.operation = Some(format!("{}.{action}", spec.name));
        Ok(assessment)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        check(&args)?;
        let workspace = self.workspace.for_call(ctx);
        let roots = workspace.roots();
        let about = args.file.as_deref().or(args.project_root.as_deref()).unwrap_or(".").to_owned();
        let text = if args.action == Action::RuffCheck {
            ruff::check(ctx, self.servers.workbench(), roots, &about).await?
        } else {
            let query = Query {
                action: args.action,
                file: about.clone(),
                line: args.line,
                character: args.character,
                symbol: args.symbol,
                new_name: args.new_name,
                project: args.project_root,
            };
            self.servers.ask(ctx, roots, query).await?
        };
        let level = self.servers.workbench().level().await?;
        Ok(ToolOutput::text(text).with_sandbox(level.as_str()).with_origin(Trust::Workspace, about))
    }
}

/// Checks that the schema cannot express: which action needs which parameters.
fn check(args: &Args) -> Result<(), ToolError> {
    if args.action != Action::RuffCheck && args.file.is_none() {
        return Err(ToolError::validation(format!(
            "`file` is missing: {} is asked of a file. For symbols of the project any of its files will do.",
            args.action.as_str()
        )));
    }
    let name = args.new_name.as_deref().map(str::trim).unwrap_or_default();
    if args.action == Action::Rename && (name.is_empty() || name.len() > MAX_NAME) {
        return Err(ToolError::validation("Give `new_name`, the name that it shall have."));
    }
    Ok(())
}
