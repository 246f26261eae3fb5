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
    /// What it does and when to use it.
    pub description: String,
    /// Its version.
    pub version: String,
    /// The tools that may be used while it is active; empty = no limit.
    pub allowed_tools: Vec<String>,
    /// Tools that it cannot do without.
    pub tools_required: Vec<String>,
    /// Where it comes from: `built in`, or its file.
    pub place: String,
    /// Its licence.
    pub license: Option<String>,
    /// What it needs of its environment.
    pub compatibility: Option<String>,
    /// Its file, and the owner of that.
    #[serde(flatten)]
    pub source: FileSource,
}

impl From<&Skill> for SkillReply {
    fn from(skill: &Skill) -> Self {
        Self {
            name: skill.name.clone(),
            display_name: skill.display_name.clone(),
            description: skill.description.clone(),
            version: skill.version.clone(),
            allowed_tools: skill.allowed_tools.clone(),
            tools_required: skill.tools_required.clone(),
            place: skill.location.to_string(),
            license: skill.license.clone(),
            compatibility: skill.compatibility.clone(),
            source: (&skill.location).into(),
        }
    }
}

pub(super) fn find<'a>(ctx: &'a LibraryContext<'_>, name: &str) -> Result<&'a Skill, OpError> {
    ctx.library.skill(name).map_err(|unknown| OpError::NotFound {
        what: Resource::Skill,
        name: name.to_owned(),
        near: unknown.near,
    })
}
