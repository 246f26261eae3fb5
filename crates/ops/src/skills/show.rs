//! Shows a skill with its instructions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_agent::library::Parameter;

use super::skill::{SkillReply, find};
use crate::error::OpError;
use crate::library::LibraryContext;

/// The skill to show.
#[derive(Debug, Clone)]
pub struct ShowSkillRequest {
    /// Its name.
    pub name: String,
}

/// A skill with all details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillDetails {
    /// The skill.
    #[serde(flatten)]
    pub skill: SkillReply,
    /// Its licence.
    pub license: Option<String>,
    /// Its requirements.
    pub compatibility: Option<String>,
    /// Further metadata of the author.
    pub metadata: Value,
    /// Values that a person enters when starting it with `/name`.
    pub parameters: Vec<SkillParameter>,
    /// The instructions.
    pub instructions: String,
    /// Its other files, relative to its folder; at most 100.
    pub files: Vec<String>,
}

/// A value that a person enters when starting a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillParameter {
    /// Its name.
    pub name: String,
    /// Its type in the words of the author, such as `string`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// Whether the skill needs it.
    pub required: bool,
}

impl From<&Parameter> for SkillParameter {
    fn from(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name.clone(),
            kind: parameter.kind.clone(),
            description: parameter.description.clone(),
            required: parameter.required,
        }
    }
}

/// Shows a skill, read from its current file.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Conflict`] if its file can no longer be read.
pub fn show(ctx: &LibraryContext<'_>, request: &ShowSkillRequest) -> Result<SkillDetails, OpError> {
    let body = find(ctx, &request.name)?
        .body()
        .map_err(|why| OpError::Conflict(format!("the skill cannot be read: {why}")))?;
    Ok(SkillDetails {
        skill: SkillReply::new(ctx, &body.skill),
        license: body.skill.license.clone(),
        compatibility: body.skill.compatibility.clone(),
        metadata: json!(body.skill.metadata),
        parameters: body.skill.parameters.iter().map(Into::into).collect(),
        instructions: body.instructions,
        files: body.files,
    })
}
