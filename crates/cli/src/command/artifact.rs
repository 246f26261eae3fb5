//! `toolcrib artifact list|show|rm`: results that were too long to be shown.

use std::io::Write as _;

use serde_json::json;
use toolcrib_app::Stores;
use toolcrib_app::core::{ArtifactMeta, ArtifactRef};

use super::past;
use super::short_id::{self, Found};
use crate::cli::Artifact;
use crate::output::{self, Failure};
use crate::{terminal, when, world};

pub(crate) fn run(command: &Artifact, json: bool) -> Result<u8, Failure> {
    let stores = world::stores()?;
    match command {
        Artifact::List { limit } => list(&stores, *limit, json),
        Artifact::Show { id, content: false } => show(&find(&stores, id)?, json),
        Artifact::Show { id, content: true } => print(&stores, &find(&stores, id)?.artifact),
        Artifact::Rm { id } => remove(&stores, &find(&stores, id)?.artifact, json),
    }
}

fn all(stores: &Stores, limit: usize) -> Result<Vec<ArtifactMeta>, Failure> {
    stores.artifacts.list(past::OWNER, limit).map_err(past::store)
}

fn find(stores: &Stores, text: &str) -> Result<ArtifactMeta, Failure> {
    let all = all(stores, usize::MAX)?;
    let names: Vec<&str> = all.iter().map(|meta| meta.artifact.0.as_str()).collect();
    let failure = |found| short_id::failure("stored result", text, found, "artifact list");
    match short_id::find(text, &names) {
        Found::One(name) => {
            let found = all.iter().find(|meta| meta.artifact.0 == name).cloned();
            found.ok_or_else(|| failure(Found::None(Vec::new())))
        }
        found => Err(failure(found)),
    }
}

fn list(stores: &Stores, limit: usize, json: bool) -> Result<u8, Failure> {
    let all = all(stores, limit)?;
    if json {
        output::document(&json!(all), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::note("toolcrib: no result is stored; what is too long to be shown is");
        return Ok(0);
    }
    let names: Vec<&str> = all.iter().map(|meta| meta.artifact.0.as_str()).collect();
    let mut text = row("ARTIFACT", "BYTES", "MADE", "TYPE AND SOURCE");
    for meta in &all {
        let name = short_id::short(&meta.artifact.0.as_str(), &names);
        let source = meta.source.as_deref().unwrap_or_default();
        let about = terminal::one_line(&format!("{} {source}", meta.media_type));
        text +=
            &row(&name, &meta.bytes.to_string(), &when::local(meta.created_at), about.trim_end());
    }
    output::data(&text)?;
    Ok(0)
}

fn row(name: &str, bytes: &str, made: &str, about: &str) -> String {
    format!("{name:<16} {bytes:>12}  {made:<20} {about}\n")
}

fn show(meta: &ArtifactMeta, json: bool) -> Result<u8, Failure> {
    if json {
        output::document(&json!(meta), true)?;
        return Ok(0);
    }
    let bytes = if meta.total_bytes > meta.bytes {
        format!("{} of {}", meta.bytes, meta.total_bytes)
    } else {
        meta.bytes.to_string()
    };
    let facts = [
        ("bytes", bytes),
        ("type", meta.media_type.clone()),
        ("words of", json!(meta.trust).as_str().unwrap_or_default().to_owned()),
        ("source", meta.source.clone().unwrap_or_default()),
        ("call", meta.call.to_string()),
        ("run", meta.run.map(|run| run.to_string()).unwrap_or_default()),
        ("conversation", meta.conversation.clone()),
        ("made", when::local(meta.created_at)),
        ("kept until", meta.expires_at.map(when::local).unwrap_or_default()),
        ("sha256", meta.sha256.clone()),
    ];
    let mut text = format!("{}\n", meta.artifact);
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("{name:<13} {}\n", terminal::one_line(value));
    }
    output::data(&text)?;
    Ok(0)
}

/// Read as a whole, so that damage is found before anything is printed.
fn print(stores: &Stores, artifact: &ArtifactRef) -> Result<u8, Failure> {
    let bytes = stores.artifacts.read(artifact, past::OWNER, 0, usize::MAX).map_err(past::store)?;
    let bytes = bytes.ok_or_else(|| gone(artifact))?;
    let mut out = std::io::stdout().lock();
    out.write_all(&bytes)?;
    out.flush()?;
    Ok(0)
}

fn remove(stores: &Stores, artifact: &ArtifactRef, json: bool) -> Result<u8, Failure> {
    if !stores.artifacts.remove(artifact, past::OWNER).map_err(past::store)? {
        return Err(gone(artifact));
    }
    if json {
        output::document(&json!({"removed": artifact}), true)?;
    } else {
        output::note(&format!("toolcrib: removed {artifact}"));
    }
    Ok(0)
}

fn gone(artifact: &ArtifactRef) -> Failure {
    Failure::not_found(format!("{artifact} was removed just now by somebody else"))
}
