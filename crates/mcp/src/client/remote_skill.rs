//! Skills of a server (`io.modelcontextprotocol/skills`, SEP-2640): their descriptions, and their
//! files when the owner imports one. Skills are untrusted text; no part of a skill is used before
//! it is imported.

use rmcp::model::{Skill, SkillResource, SkillResources};
use serde_json::{Map, Value};
use toolcrib_core::ToolError;

use super::connection::Connection;
use crate::resource_contents::ResourceBody;

/// The main file of a skill.
const FILE: &str = "SKILL.md";
/// Maximum number of files of a skill (SEP-2640).
const FILES: usize = 512;
/// Maximum bytes of all files of a skill (SEP-2640: 16 MiB).
const BYTES: u64 = 16 << 20;
/// Maximum number of skills of one server.
const SKILLS: usize = 1000;

/// A skill as its server describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedSkill {
    /// Its name.
    pub name: String,
    /// URI of its `SKILL.md`.
    pub uri: String,
    /// The front matter of its `SKILL.md`.
    pub front_matter: Map<String, Value>,
    /// Its files, or why it cannot be imported, as a fragment.
    pub files: Result<Vec<OfferedFile>, String>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedFile {
    /// Its path in the folder of the skill.
    pub path: String,
    of_server: SkillResource,
}

impl OfferedFile {
    /// Returns whether the bytes have the published digest.
    #[must_use]
    pub fn matches_digest(&self, bytes: &[u8]) -> bool {
        self.of_server.verify(bytes).is_ok()
    }

    /// Returns its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.of_server.size
    }
}

impl OfferedSkill {
    fn from_skill(skill: &Skill) -> Self {
        let mut front_matter = skill.frontmatter.extra.clone();
        let own =
            [("name", &skill.frontmatter.name), ("description", &skill.frontmatter.description)];
        for (key, text) in own {
            front_matter.insert(key.to_owned(), Value::String(text.clone()));
        }
        let (name, uri) = (skill.frontmatter.name.clone(), skill.uri.clone());
        Self { name, uri, front_matter, files: files(skill) }
    }
}

/// Checks the files of a skill against the rules of the extension and ours, and returns them.
fn files(skill: &Skill) -> Result<Vec<OfferedFile>, String> {
    skill.validate().map_err(|error| format!("is described wrongly: {error}"))?;
    let SkillResources::Files(files) = &skill.resources else {
        return Err("has no fixed content, so its digest cannot be verified".to_owned());
    };
    let bytes = files.iter().fold(0_u64, |all, file| all.saturating_add(file.size));
    if files.len() > FILES || bytes > BYTES {
        return Err(format!("has {} files of {bytes} bytes, which is too much", files.len()));
    }
    let root = skill.uri.strip_suffix(FILE).unwrap_or_default();
    let file = |file: &SkillResource| {
        let path = file.uri.strip_prefix(root).filter(|path| is_plain(path));
        let path = path.ok_or("has a file whose name is not plain")?.to_owned();
        Ok(OfferedFile { path, of_server: file.clone() })
    };
    files.iter().map(file).collect()
}

/// Returns whether a path stays inside its folder on every platform.
fn is_plain(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    path.split('/').all(|part| {
        !part.is_empty() && part.len() <= 100 && !part.starts_with('.') && part.chars().all(plain)
    })
}

impl Connection {
    /// Returns the skills that the server lists, connecting first; empty if it has none. Does not
    /// read their files.
    ///
    /// # Errors
    /// Why they cannot be listed.
    pub async fn skills(&self) -> Result<Vec<OfferedSkill>, ToolError> {
        let live = self.reviewed_connection().await?;
        let info = live.peer().peer_info();
        if !info.is_some_and(|info| info.capabilities.supports_skills()) {
            return Ok(Vec::new());
        }
        let listed = self.with_timeout(live.peer().list_all_skills()).await?;
        let listed = listed.map_err(|error| self.read_failed(&error))?;
        Ok(listed.iter().take(SKILLS).map(OfferedSkill::from_skill).collect())
    }

    /// Reads a file of a skill, and verifies its digest.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub async fn skill_file(&self, file: &OfferedFile) -> Result<Vec<u8>, ToolError> {
        let (name, path) = (&self.config().name, &file.path);
        let read = self.read(&file.of_server.uri).await?;
        let bytes = match read.map(|contents| contents.body) {
            Some(ResourceBody::Text(text)) => text.into_bytes(),
            Some(ResourceBody::Bytes(bytes)) => bytes,
            None => {
                let text = format!("The MCP server {name} does not have {path} of its skill.");
                return Err(ToolError::execution(text));
            }
        };
        if file.matches_digest(&bytes) {
            return Ok(bytes);
        }
        Err(ToolError::execution(format!(
            "The file {path} of the MCP server {name} is not the one that it described. Look at its skills again."
        )))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn offered(uri: &str, files: &Value) -> OfferedSkill {
        let front_matter = json!({"name": "a", "description": "d", "x": [1]});
        let skill = json!({"uri": uri, "frontmatter": front_matter, "resources": files});
        OfferedSkill::from_skill(&serde_json::from_value(skill).unwrap())
    }

    fn file(uri: &str, size: u64) -> Value {
        json!({"uri": uri, "digest": format!("sha256:{}", "0".repeat(64)), "size": size})
    }

    #[test]
    fn what_is_no_skill_by_the_rules_is_not_taken() {
        let head = file("skill://p/a/SKILL.md", 1);
        let good = offered("skill://p/a/SKILL.md", &json!([head, file("skill://p/a/b/c.md", 2)]));
        assert_eq!(
            good.front_matter,
            *json!({"name": "a", "description": "d", "x": [1]}).as_object().unwrap()
        );
        let paths: Vec<String> = good.files.unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["SKILL.md", "b/c.md"]);
        let check = |uri: &str, files: Value, words: &str| {
            let fault = offered(uri, &files).files.unwrap_err();
            assert!(fault.contains(words), "{fault}");
        };
        let uri = "skill://p/a/SKILL.md";
        check(uri, json!("dynamic"), "has no fixed content");
        check(uri, json!([]), "described wrongly");
        check(
            "skill://p/b/SKILL.md",
            json!([file("skill://p/b/SKILL.md", 1)]),
            "described wrongly",
        );
        check(uri, json!([head, file("skill://p/other.md", 1)]), "described wrongly");
        check(uri, json!([head, file("skill://p/a/../x", 1)]), "described wrongly");
        check(uri, json!([head, file("skill://p/a/.git/x", 1)]), "not plain");
        check(uri, json!([head, file("skill://p/a/%2e%2e/x", 1)]), "");
        check(uri, json!([head, file("skill://p/a/big", 17 << 20)]), "too much");
    }
}
