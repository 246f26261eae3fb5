//! External tools, tested with real programs through the handler.

mod calls;
mod definitions;
mod folder_changes;
mod program_output;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{CallCtx, Handler, Source as _, ToolError, ToolOutput, ToolSpec};

use super::{Config, ExternalToolSource, ToolCheck, check_folder};
use crate::test_support::context;

/// A temporary folder of tools.
struct Tools {
    dir: tempfile::TempDir,
}

const PLAIN: &str = "description = \"A tool for tests.\"\n";

impl Tools {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
        self
    }

    fn program(&self, path: &str, script: &str) -> &Self {
        self.file(path, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// Adds a tool with this definition and this script as its program.
    fn tool(&self, name: &str, definition: &str, script: &str) -> &Self {
        self.file(&format!("{name}/tool.toml"), definition).program(&format!("{name}/run"), script)
    }

    fn source(&self) -> ExternalToolSource {
        ExternalToolSource::new("mine", self.dir.path())
    }

    fn reports(&self) -> Vec<ToolCheck> {
        check_folder(self.dir.path())
    }
}

/// Reads a folder with this one definition.
fn spec_of(definition: &str) -> Result<Arc<ToolSpec>, String> {
    let tools = Tools::new();
    tools.tool("only", definition, "");
    tools.reports().remove(0).spec.map_err(|fault| fault.to_string())
}

async fn handler(source: &ExternalToolSource, name: &str) -> Arc<dyn Handler> {
    let entries = source.load().await.unwrap();
    let entry = entries.iter().find(|entry| entry.spec().name.as_str() == name).expect(name);
    Arc::clone(entry.handler().unwrap())
}

async fn call(
    source: &ExternalToolSource,
    name: &str,
    args: Value,
) -> Result<ToolOutput, ToolError> {
    call_in(&context(), source, name, args).await
}

async fn call_in(
    ctx: &CallCtx,
    source: &ExternalToolSource,
    name: &str,
    args: Value,
) -> Result<ToolOutput, ToolError> {
    handler(source, name).await.call(ctx, &args).await
}
