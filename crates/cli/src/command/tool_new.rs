//! `toolcrib tool new`: creates a working tool of one's own.

use std::path::{Path, PathBuf};

use serde_json::json;
use toolcrib_builtins::external_tools::{self, ScaffoldError};

use super::library_snapshot;
use crate::bootstrap;
use crate::clap_args::{ToolNew, WorkspaceArgs};
use crate::output::{self, Failure};

/// Arguments of the example.
const EXAMPLE: &str = r#"{"who": "Ada"}"#;

pub(super) fn run(command: &ToolNew, json: bool) -> Result<u8, Failure> {
    let workspace = command.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let dir = match &command.dir {
        Some(dir) => dir.clone(),
        None => library_snapshot::folder_for_new("tools", command.project.then_some(&workspace))?,
    };
    check_name_free(&command.name, &dir, workspace, json)?;
    let path = external_tools::scaffold(&dir, &command.name).map_err(|error| match &error {
        ScaffoldError::Name(_) | ScaffoldError::Exists(_) => Failure::usage(error.to_string()),
        ScaffoldError::Write(..) => Failure::run(error.to_string()),
    })?;
    let name = &command.name;
    let here = command.dir.as_ref().map(|dir| format!(" --tools {}", dir.display()));
    let there = here.unwrap_or_default();
    let call = format!("toolcrib tool call {name} --args '{EXAMPLE}'{there}");
    if json {
        output::print_json(&json!({"tool": name, "path": path, "try": call}), true)?;
        return Ok(0);
    }
    output::print_line(&path.display().to_string())?;
    let mut words = format!("toolcrib: try it:      {call}\n");
    words += &format!("toolcrib: in a run:    toolcrib run{there} \"Greet Ada with {name}\"\n");
    words += "toolcrib: then edit tool.toml and run.sh; docs/own-tools.md describes every key";
    if command.project {
        words += "\ntoolcrib: tools of a workspace ask before they run, whatever risk they declare; \
                  trusted_workspaces in the configuration lifts that for workspaces that are yours";
    }
    output::eprint_line(&words);
    Ok(0)
}

/// Checks that the name is not taken: otherwise, the new tool would be broken.
fn check_name_free(name: &str, dir: &Path, workspace: PathBuf, json: bool) -> Result<(), Failure> {
    let world = WorkspaceArgs {
        workspace: Some(workspace),
        tools: vec![dir.to_owned()],
        ..WorkspaceArgs::default()
    };
    let toolcrib = bootstrap::block_on(bootstrap::inspect(&world, json))?;
    match toolcrib.spec(name) {
        Some(spec) if dir.join(name).exists() => {
            Err(Failure::usage(format!("a tool {} already exists in {}", spec.name, dir.display())))
        }
        Some(spec) => Err(Failure::usage(format!(
            "a tool {} already exists{}; choose another name",
            spec.name,
            if spec.name.as_str() == name { "" } else { ", which has this name too" }
        ))),
        None => Ok(()),
    }
}
