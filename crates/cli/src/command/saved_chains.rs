//! `toolcrib chain save|list|show|rm`: scripts that are kept as tools.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_code_mode::{ChainError, ChainFolder};

use super::library_snapshot;
use crate::bootstrap;
use crate::clap_args::{Chain, ChainRemove, ChainSave, LibraryArgs, WorkspaceArgs};
use crate::output::{self, Failure};

pub(super) fn run(command: &Chain, json: bool) -> Result<u8, Failure> {
    match command {
        Chain::Save(command) => save(command, json),
        Chain::List(places) => list(places, json),
        Chain::Show { name, library_args: places } => show(name, places, json),
        Chain::Rm(remove) => rm(remove, json),
    }
}

/// What is there at this place.
async fn open_toolcrib(places: &LibraryArgs, json: bool) -> Result<Toolcrib, Failure> {
    let LibraryArgs { workspace, tools } = places.clone();
    let workspace = Some(workspace.unwrap_or_else(|| PathBuf::from(".")));
    bootstrap::inspect(&WorkspaceArgs { workspace, tools, ..WorkspaceArgs::default() }, json).await
}

/// The folder that a script is kept in.
fn folder(toolcrib: &Toolcrib, everywhere: bool) -> Result<PathBuf, Failure> {
    if everywhere {
        return library_snapshot::folder_for_new("tools", None);
    }
    let folder = toolcrib.saved_chain_folder().map(|folder| folder.path);
    folder.ok_or_else(|| Failure::usage("there is no folder for tools here; use --global"))
}

fn save(save: &ChainSave, json: bool) -> Result<u8, Failure> {
    let code = with_description(read_script(&save.file)?, save.description.as_deref())?;
    let (kept, of_anybody) = bootstrap::block_on(async {
        let toolcrib = open_toolcrib(&save.library_args, json).await?;
        let folder = folder(&toolcrib, save.global)?;
        let kept = toolcrib.save_chain(&folder, &save.name, &code).await.map_err(failure)?;
        let of_anybody =
            toolcrib.saved_chain_folder().is_some_and(|of| of.path == folder && of.of_anybody);
        Ok((kept, of_anybody))
    })?;
    if json {
        output::print_json(&json!({"tool": kept.name, "path": kept.path}), true)?;
        return Ok(0);
    }
    output::print_line(&kept.path.display().to_string())?;
    let mut words = format!("toolcrib: try it: toolcrib tool call {} --args '{{…}}'", kept.name);
    if of_anybody {
        words += "\ntoolcrib: scripts of a workspace ask before they run, whatever risk they declare; \
                  `toolcrib trust` lifts that for a workspace that is yours";
    }
    output::eprint_line(&words);
    Ok(0)
}

/// The text of a script.
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

/// A script with this description before it.
fn with_description(code: String, description: Option<&str>) -> Result<String, Failure> {
    let Some(description) = description else { return Ok(code) };
    if description.trim().is_empty() || description.contains(['\n', '\r']) {
        return Err(Failure::usage("--description is one line of text"));
    }
    Ok(format!("# description: {}\n{code}", description.trim()))
}

fn list(places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let toolcrib = bootstrap::block_on(open_toolcrib(places, json))?;
    let chains = toolcrib.saved_chains();
    if json {
        let row = |chain: &toolcrib_app::ChainEntry| {
            let (description, problem) = match &chain.kept.description {
                Ok(text) => (Some(text), None),
                Err(why) => (None, Some(why)),
            };
            json!({
                "name": chain.kept.name,
                "description": description,
                "problem": problem,
                "folder": chain.folder,
                "asked_about": chain.of_anybody,
                "path": chain.kept.path,
            })
        };
        output::print_json(&chains.iter().map(row).collect::<Value>(), true)?;
        return Ok(0);
    }
    let mut rows = vec![["SCRIPT", "FROM", "DESCRIPTION"].map(str::to_owned).to_vec()];
    rows.extend(chains.into_iter().map(|chain| {
        let words = chain.kept.description.unwrap_or_else(|why| format!("cannot be used: {why}"));
        vec![chain.kept.name, chain.folder, words]
    }));
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

fn show(name: &str, places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let toolcrib = bootstrap::block_on(open_toolcrib(places, json))?;
    let chain = toolcrib.saved_chains().into_iter().find(|chain| chain.kept.name == name);
    let chain = chain.ok_or_else(|| missing(name))?;
    let code = chain.kept.text().map_err(failure)?;
    if json {
        output::print_json(&json!({"name": name, "path": chain.kept.path, "code": code}), true)?;
    } else {
        output::print_line(code.trim_end())?;
    }
    Ok(0)
}

fn rm(remove: &ChainRemove, json: bool) -> Result<u8, Failure> {
    let toolcrib = bootstrap::block_on(open_toolcrib(&remove.library_args, json))?;
    let folder = ChainFolder::new(folder(&toolcrib, remove.global)?);
    folder.remove(&remove.name).map_err(failure)?;
    if json {
        output::print_json(&json!({"removed": remove.name}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {} is no longer a tool", remove.name));
    }
    Ok(0)
}

fn missing(name: &str) -> Failure {
    Failure::not_found(format!("there is no script {name}; `toolcrib chain list` shows them"))
}

fn failure(error: ChainError) -> Failure {
    match error {
        ChainError::Missing(name) => missing(&name),
        ChainError::File { .. } => Failure::run(error.to_string()),
        error => Failure::usage(error.to_string()),
    }
}
