//! Skill list for MCP clients (`io.modelcontextprotocol/skills`, SEP-2640): descriptions, and
//! digests of the files.

use rmcp::model::{Skill, SkillFrontmatter, SkillResource, SkillResources};

/// A file of a skill: URI, digest and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile(SkillResource);

impl SkillFile {
    /// Creates the entry of a file with this URI and content.
    #[must_use]
    pub fn from_bytes(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self(SkillResource::from_bytes(uri, bytes))
    }
}

/// Returns the list entry of a skill; `None` if it violates the extension's rules.
pub(super) fn entry(skill: super::Skill) -> Option<Skill> {
    let front_matter: SkillFrontmatter =
        serde_json::from_value(serde_json::Value::Object(skill.front_matter)).ok()?;
    let files: Vec<SkillResource> = skill.files.into_iter().map(|file| file.0).collect();
    let uri = files.first()?.uri.clone();
    let entry = Skill::new(uri, front_matter, SkillResources::Files(files));
    entry.validate().is_ok().then_some(entry)
}
