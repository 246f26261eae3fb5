//! Skills as MCP resources: each file at its own URI, byte for byte as on disk.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Map;
use toolcrib_agent::library::{self, Library, Location, SKILL_FILE, Scope};
use toolcrib_mcp::server::{Contents, Refusal, Resource, ResourceBody, Skill, SkillFile};

/// URI scheme of skill files (SEP-2640).
pub(super) const SKILL_SCHEME: &str = "skill://";

/// Percent-encodes a path for a URI.
fn percent_encode(path: &str) -> String {
    path.bytes().fold(String::new(), |mut text, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(char::from(byte));
            }
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
        text
    })
}

/// Returns the skills for clients. Skills imported from MCP servers are left out, because clients
/// would attribute them to Toolcrib.
fn model_skills(library: &Library) -> impl Iterator<Item = &library::Skill> {
    let is_servers =
        |place: &Location| matches!(place, Location::File { scope: Scope::Server, .. });
    library.skills.iter().filter(move |skill| !is_servers(&skill.location))
}

/// Returns the URI of a skill's main file.
fn main_file_uri(name: &str) -> String {
    format!("{SKILL_SCHEME}{name}/{SKILL_FILE}")
}

/// Returns the skills with the digests of their files, or only the one at this URI. A skill that
/// cannot be read is left out.
pub(super) async fn describe_skills(library: Arc<Library>, only: Option<String>) -> Vec<Skill> {
    let describe = |skill: &library::Skill| {
        let whole = skill.bundle().ok()?;
        let mut files = whole.files;
        files.sort_by_key(|(path, _)| path != SKILL_FILE);
        let file = |(path, bytes): &(String, Vec<u8>)| {
            SkillFile::from_bytes(
                format!("{SKILL_SCHEME}{}/{}", skill.name, percent_encode(path)),
                bytes,
            )
        };
        let files = files.iter().map(file).collect();
        Some(Skill { front_matter: whole.front_matter, files })
    };
    let read = move || {
        let wanted = |skill: &&library::Skill| {
            only.as_ref().is_none_or(|uri| *uri == main_file_uri(&skill.name))
        };
        model_skills(&library).filter(wanted).filter_map(describe).collect()
    };
    tokio::task::spawn_blocking(read).await.unwrap_or_default()
}

/// Lists the main files of all skills.
pub(super) fn list_resources(library: &Library) -> impl Iterator<Item = Resource> {
    model_skills(library).map(|skill| Resource {
        uri: main_file_uri(&skill.name),
        name: skill.name.clone(),
        description: Some(skill.description.clone()),
        media_type: Some("text/markdown".to_owned()),
        size: None,
    })
}

/// Reads a skill file, by the part of its URI after the scheme.
pub(super) async fn read_skill_file(
    library: Arc<Library>,
    path: String,
) -> Result<Option<Contents>, Refusal> {
    let read = move || {
        let Some((name, file)) = path.split_once('/') else { return Ok(None) };
        let Some(skill) = model_skills(&library).find(|skill| skill.name == name) else {
            return Ok(None);
        };
        let found = skill.file(|path| percent_encode(path) == file);
        let found = found.map_err(|fault| format!("the skill {name} {fault}"))?;
        Ok(found.map(|(path, bytes)| contents(&path, bytes)))
    };
    let failed = |error: tokio::task::JoinError| error.to_string();
    tokio::task::spawn_blocking(read).await.map_err(failed)?
}

/// Returns the file unchanged, because clients compare it with the published digest.
fn contents(path: &str, bytes: Vec<u8>) -> Contents {
    match String::from_utf8(bytes) {
        Ok(text) => {
            let markdown = path.ends_with(".md");
            Contents::text(if markdown { "text/markdown" } else { "text/plain" }, text)
        }
        Err(error) => Contents {
            media_type: Some("application/octet-stream".to_owned()),
            body: ResourceBody::Bytes(error.into_bytes()),
            meta: Map::new(),
        },
    }
}
