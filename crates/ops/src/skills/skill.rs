//! A skill in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_agent::library::Skill;

use crate::error::{OpError, Resource};
use crate::library::{FileSource, LibraryContext};

/// A skill in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SkillRow")]
pub struct SkillReply {
    /// Its name.
    pub name: String,
    /// Name for people.
    pub display_name: Option<String>,
    /// Its purpose, and when to use it.
    pub description: String,
    /// Its version.
    pub version: String,
    /// The tools that may be used while it is active; empty = no limit.
    pub allowed_tools: Vec<String>,
    /// Tools that it requires.
    pub tools_required: Vec<String>,
    /// Whether models may use it: the switch `skill:NAME`.
    pub enabled: bool,
    /// Agents whose runs start with it.
    pub agents: Vec<String>,
    /// Its origin: `built in`, or its file.
    pub place: String,
    /// Its licence.
    pub license: Option<String>,
    /// Its requirements on the environment.
    pub compatibility: Option<String>,
    /// Its file, and the owner of the file.
    #[serde(flatten)]
    pub source: FileSource,
}

impl SkillReply {
    pub(super) fn new(ctx: &LibraryContext<'_>, skill: &Skill) -> Self {
        let agents = ctx.library.agents.iter().filter(|agent| agent.skills.contains(&skill.name));
        Self {
            name: skill.name.clone(),
            display_name: skill.display_name.clone(),
            description: skill.description.clone(),
            version: skill.version.clone(),
            allowed_tools: skill.allowed_tools.clone(),
            tools_required: skill.tools_required.clone(),
            enabled: !ctx.toolcrib.engine().skills_off().contains(&skill.name),
            agents: agents.map(|agent| agent.name.clone()).collect(),
            place: skill.location.to_string(),
            license: skill.license.clone(),
            compatibility: skill.compatibility.clone(),
            source: (&skill.location).into(),
        }
    }
}

/// Returns all skills by name, including disabled ones.
pub(super) fn all<'a>(ctx: &'a LibraryContext<'_>) -> impl Iterator<Item = &'a Skill> {
    let mut all: Vec<&Skill> = ctx.library.skills.iter().chain(&ctx.library.skills_off).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all.into_iter()
}

pub(super) fn find<'a>(ctx: &'a LibraryContext<'_>, name: &str) -> Result<&'a Skill, OpError> {
    if let Some(off) = ctx.library.skills_off.iter().find(|skill| skill.name == name) {
        return Ok(off);
    }
    ctx.library.skill(name).map_err(|unknown| OpError::NotFound {
        what: Resource::Skill,
        name: name.to_owned(),
        near: unknown.near,
    })
}
