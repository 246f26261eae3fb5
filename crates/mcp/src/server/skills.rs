//! Our skills as clients read them (`io.modelcontextprotocol/skills`, SEP-2640): what each is, and the digests of its files.

use rmcp::model::{Skill, SkillFrontmatter, SkillResource, SkillResources};

/// The entry of a skill; `None` = it is none by the rules of the extension, and is left out.
pub(super) fn entry(skill: super::Skill) -> Option<Skill> {
    let front_matter: SkillFrontmatter =
        serde_json::from_value(serde_json::Value::Object(skill.front_matter)).ok()?;
    let uri = skill.files.first()?.0.clone();
    let file = |(uri, bytes): &(String, Vec<u8>)| SkillResource::from_bytes(uri, bytes);
    let files = skill.files.iter().map(file).collect();
    let entry = Skill::new(uri, front_matter, SkillResources::Files(files));
    entry.validate().is_ok().then_some(entry)
}
