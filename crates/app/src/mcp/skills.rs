//! Our skills for clients: each file under an address of its own, as it is on the disk.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Map;
use toolcrib_agent::library::{Library, Place, Scope};
use toolcrib_mcp::server::{Body, Contents, Refusal, Resource, Skill};

/// How the address of a file of a skill begins (SEP-2640).
pub(super) const SKILL: &str = "skill://";
/// The file that a skill begins with.
const FILE: &str = "SKILL.md";

/// A path as part of an address.
fn in_address(path: &str) -> String {
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

/// The skills that are given away: what was taken over from a server would be told as ours.
fn own(library: &Library) -> impl Iterator<Item = &toolcrib_agent::library::Skill> {
    let is_servers = |place: &Place| matches!(place, Place::File { scope: Scope::Server, .. });
    library.skills.iter().filter(move |skill| !is_servers(&skill.place))
}

/// The skills with all their files. One that cannot be given away now is left out.
pub(super) async fn all(library: Arc<Library>) -> Vec<Skill> {
    let read = move || {
        let skill = |skill: &toolcrib_agent::library::Skill| {
            let whole = skill.whole().ok()?;
            let mut files: Vec<(String, Vec<u8>)> = whole
                .files
                .into_iter()
                .map(|(path, bytes)| {
                    (format!("{SKILL}{}/{}", skill.name, in_address(&path)), bytes)
                })
                .collect();
            let first = format!("{SKILL}{}/{FILE}", skill.name);
            files.sort_by_key(|(uri, _)| *uri != first);
            Some(Skill { front_matter: whole.front_matter, files })
        };
        own(&library).filter_map(skill).collect()
    };
    tokio::task::spawn_blocking(read).await.unwrap_or_default()
}

/// Where the skills begin.
pub(super) fn listed(library: &Library) -> impl Iterator<Item = Resource> {
    own(library).map(|skill| Resource {
        uri: format!("{SKILL}{}/{FILE}", skill.name),
        name: skill.name.clone(),
        description: Some(skill.description.clone()),
        media_type: Some("text/markdown".to_owned()),
        size: None,
    })
}

/// A file of a skill, by the part of its address after the scheme.
pub(super) async fn read(library: Arc<Library>, path: String) -> Result<Option<Contents>, Refusal> {
    let read = move || {
        let Some((name, file)) = path.split_once('/') else { return Ok(None) };
        let Some(skill) = own(&library).find(|skill| skill.name == name) else {
            return Ok(None);
        };
        let whole = skill.whole().map_err(|fault| format!("the skill {name} {fault}"))?;
        let found = whole.files.into_iter().find(|(path, _)| in_address(path) == file);
        Ok(found.map(|(path, bytes)| contents(&path, bytes)))
    };
    let failed = |error: tokio::task::JoinError| error.to_string();
    tokio::task::spawn_blocking(read).await.map_err(failed)?
}

/// A file as it is: its digest is told, so nothing in it is changed.
fn contents(path: &str, bytes: Vec<u8>) -> Contents {
    match String::from_utf8(bytes) {
        Ok(text) => {
            let markdown = path.ends_with(".md");
            Contents::text(if markdown { "text/markdown" } else { "text/plain" }, text)
        }
        Err(error) => Contents {
            media_type: Some("application/octet-stream".to_owned()),
            body: Body::Bytes(error.into_bytes()),
            meta: Map::new(),
        },
    }
}
