//! `toolcrib artifact list|show|rm`: results that were too long to show.

use std::io::Write as _;

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_core::{ArtifactMeta, ArtifactRef};
use toolcrib_ops::artifacts::{
    self, ArtifactDocument, ListArtifactsRequest, RemoveArtifactRequest, ShowArtifactRequest,
};
use toolcrib_ops::{Resource, id_prefix};

use super::{lookup, short_id};
use crate::clap_args::Artifact;
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, op_context, terminal, time_format};

pub(crate) fn run(command: &Artifact, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let stores = bootstrap::stores()?;
        match command {
            Artifact::List { limit } => list(&stores, *limit, json).await,
            Artifact::Show { id, content: false } => show(&find_artifact(&stores, id).await?, json),
            Artifact::Show { id, content: true } => {
                print(&stores, &find_artifact(&stores, id).await?.artifact)
            }
            Artifact::Rm { id } => remove(&stores, id, json).await,
        }
    })
}

async fn all_artifacts(stores: &Stores, limit: usize) -> Result<Vec<ArtifactMeta>, Failure> {
    let request = ListArtifactsRequest { limit };
    Ok(artifacts::list(&op_context::for_stores(stores), request).await?)
}

async fn find_artifact(stores: &Stores, text: &str) -> Result<ArtifactMeta, Failure> {
    let all = all_artifacts(stores, usize::MAX).await?;
    let names: Vec<&str> = all.iter().map(|meta| meta.artifact.0.as_str()).collect();
    let name = id_prefix::resolve(Resource::Artifact, text, &names)?;
    let request = ShowArtifactRequest { artifact: ArtifactRef(name.to_owned()) };
    Ok(artifacts::show(&op_context::for_stores(stores), request).await?)
}

async fn list(stores: &Stores, limit: usize, json: bool) -> Result<u8, Failure> {
    let all = all_artifacts(stores, limit).await?;
    if json {
        output::print_json(&all.iter().map(to_json).collect(), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::eprint_line(
            "toolcrib: no artifacts; results that are too long to show are stored as artifacts",
        );
        return Ok(0);
    }
    let names: Vec<&str> = all.iter().map(|meta| meta.artifact.0.as_str()).collect();
    let mut text = row("ARTIFACT", "BYTES", "CREATED", "TYPE AND SOURCE");
    for meta in &all {
        let name = short_id::shorten(&meta.artifact.0.as_str(), &names);
        let source = meta.source.as_deref().unwrap_or_default();
        let about = terminal::escape_to_line(&format!("{} {source}", meta.media_type));
        text += &row(
            &name,
            &meta.bytes.to_string(),
            &time_format::format_local(meta.created_at),
            about.trim_end(),
        );
    }
    output::print_line(&text)?;
    Ok(0)
}

/// A stored result for machines, with members that only this command has.
fn to_json(meta: &ArtifactMeta) -> Value {
    json_document::with_members(&ArtifactDocument::from(meta), json!(meta))
}

fn row(name: &str, bytes: &str, made: &str, about: &str) -> String {
    format!("{name:<16} {bytes:>12}  {made:<20} {about}\n")
}

fn show(meta: &ArtifactMeta, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&to_json(meta), true)?;
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
        ("made", time_format::format_local(meta.created_at)),
        ("kept until", meta.expires_at.map(time_format::format_local).unwrap_or_default()),
        ("sha256", meta.sha256.clone()),
    ];
    let mut text = format!("{}\n", meta.artifact);
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("{name:<13} {}\n", terminal::escape_to_line(value));
    }
    output::print_line(&text)?;
    Ok(0)
}

/// Read the complete artifact, so that damage is detected before anything is printed.
fn print(stores: &Stores, artifact: &ArtifactRef) -> Result<u8, Failure> {
    let bytes = stores.artifacts.read(artifact, lookup::LOCAL_OWNER, 0, usize::MAX)?;
    let bytes = bytes.ok_or_else(|| missing_artifact(artifact))?;
    let mut out = std::io::stdout().lock();
    out.write_all(&bytes)?;
    out.flush()?;
    Ok(0)
}

async fn remove(stores: &Stores, id: &str, json: bool) -> Result<u8, Failure> {
    let artifact = find_artifact(stores, id).await?.artifact;
    let request = RemoveArtifactRequest { artifact: artifact.clone() };
    if !artifacts::remove(&op_context::for_stores(stores), request).await?.changed {
        return Err(missing_artifact(&artifact));
    }
    if json {
        output::print_json(&json!({"removed": artifact}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: removed {artifact}"));
    }
    Ok(0)
}

fn missing_artifact(artifact: &ArtifactRef) -> Failure {
    Failure::not_found(format!("another process has just removed {artifact}"))
}
