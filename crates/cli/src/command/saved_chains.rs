//! `toolcrib chain save|list|show|rm`: scripts that are saved as tools.

use std::path::{Path, PathBuf};

use serde_json::json;
use toolcrib_app::Toolcrib;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::chains::{self, PutChainRequest, RemoveChainRequest};
use toolcrib_ops::{ExpectedVersion, OpError};

use super::library_snapshot;
use crate::clap_args::{Chain, ChainRemove, ChainSave, LibraryArgs, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, op_context};

pub(super) fn run(command: &Chain, json: bool) -> Result<u8, Failure> {
    match command {
        Chain::Save(command) => save(command, json),
        Chain::List(places) => list(places, json),
        Chain::Show { name, library_args: places } => show(name, places, json),
        Chain::Rm(remove) => rm(remove, json),
    }
}

/// Builds a Toolcrib for this workspace.
async fn open_toolcrib(places: &LibraryArgs, json: bool) -> Result<Toolcrib, Failure> {
    let LibraryArgs { workspace, tools } = places.clone();
    let workspace = Some(workspace.unwrap_or_else(|| PathBuf::from(".")));
    bootstrap::inspect(&WorkspaceArgs { workspace, tools, ..WorkspaceArgs::default() }, json).await
}

/// Returns the folder in which a script is saved.
fn folder(toolcrib: &Toolcrib, everywhere: bool) -> Result<PathBuf, Failure> {
    if everywhere {
        return library_snapshot::folder_for_new("tools", None);
    }
    let folder = toolcrib.saved_chain_folder().map(|folder| folder.path);
    folder.ok_or_else(|| Failure::usage("there is no folder for tools here; use --global"))
}

fn save(save: &ChainSave, json: bool) -> Result<u8, Failure> {
    let code = with_description(read_script(&save.file)?, save.description.as_deref())?;
    let kept = bootstrap::block_on(async {
        let toolcrib = open_toolcrib(&save.library_args, json).await?;
        let request = PutChainRequest {
            name: save.name.clone(),
            code,
            folder: Some(folder(&toolcrib, save.global)?),
            expected: ExpectedVersion::Any,
        };
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        Ok(chains::put(&ctx, &Recorder::None, request).await.map_err(failure)?.chain)
    })?;
    if json {
        let own = json!({ "tool": kept.chain.name });
        output::print_json(&json_document::with_members(&kept, own), true)?;
        return Ok(0);
    }
    output::print_line(&kept.chain.path.display().to_string())?;
    let mut words =
        format!("toolcrib: try it: toolcrib tool call {} --args '{{…}}'", kept.chain.name);
    if kept.chain.asked_about {
        words += "\ntoolcrib: scripts of a workspace ask before they run, whatever risk they declare; \
                  `toolcrib trust` lifts that for a workspace that is yours";
    }
    output::eprint_line(&words);
    Ok(0)
}

/// Reads the text of a script.
fn read_script(file: &Path) -> Result<String, Failure> {
    if file == Path::new("-") {
        let text = String::from_utf8(output::read_stdin()?);
        return text.map_err(|_| Failure::usage("the script is not text"));
    }
    match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::not_found(format!("there is no {}", file.display())))
        }
        text => text.map_err(|error| Failure::usage(format!("{}: {error}", file.display()))),
    }
}

/// Adds this description before a script.
fn with_description(code: String, description: Option<&str>) -> Result<String, Failure> {
    let Some(description) = description else { return Ok(code) };
    if description.trim().is_empty() || description.contains(['\n', '\r']) {
        return Err(Failure::usage("--description is one line of text"));
    }
    Ok(format!("# description: {}\n{code}", description.trim()))
}

fn list(places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let chains = bootstrap::block_on(async {
        let toolcrib = open_toolcrib(places, json).await?;
        Ok(chains::list(&op_context::for_toolcrib(&toolcrib, None)).await?)
    })?;
    if json {
        output::print_json(&json!(chains), true)?;
        return Ok(0);
    }
    let mut rows = vec![["SCRIPT", "FROM", "DESCRIPTION"].map(str::to_owned).to_vec()];
    rows.extend(chains.into_iter().map(|chain| {
        let problem = chain.problem.map(|why| format!("cannot be used: {why}"));
        let words = chain.description.or(problem).unwrap_or_default();
        vec![chain.name, chain.folder, words]
    }));
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

fn show(name: &str, places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let chain = bootstrap::block_on(async {
        let toolcrib = open_toolcrib(places, json).await?;
        Ok(chains::show(&op_context::for_toolcrib(&toolcrib, None), name).await?)
    })?;
    if json {
        output::print_json(&json!(chain), true)?;
    } else {
        output::print_line(chain.code.trim_end())?;
    }
    Ok(0)
}

fn rm(remove: &ChainRemove, json: bool) -> Result<u8, Failure> {
    let removed = bootstrap::block_on(async {
        let toolcrib = open_toolcrib(&remove.library_args, json).await?;
        let request = RemoveChainRequest {
            name: remove.name.clone(),
            folder: Some(folder(&toolcrib, remove.global)?),
            expected: ExpectedVersion::Any,
        };
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        chains::remove(&ctx, &Recorder::None, request).await.map_err(failure)
    })?;
    if json {
        output::print_json(&json!(removed), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {} is no longer a tool", removed.removed));
    }
    Ok(0)
}

/// Returns the failure: an invalid script is an error of the command, not of Toolcrib.
fn failure(error: OpError) -> Failure {
    match error {
        OpError::Conflict(why) => Failure::usage(why),
        error => error.into(),
    }
}
