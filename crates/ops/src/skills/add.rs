//! Copies a skill into a folder of the library.

use std::path::PathBuf;

use toolcrib_agent::library;

use super::skill::SkillReply;
use crate::error::OpError;
use crate::library::LibraryContext;

/// A skill to copy.
#[derive(Debug, Clone)]
pub struct AddSkillRequest {
    /// Its folder, with its `SKILL.md`.
    pub from: PathBuf,
    /// The folder of skills into which it is copied.
    pub to: PathBuf,
}

/// Checks a skill and copies its folder.
///
/// # Errors
/// [`OpError::Absent`] if the folder does not exist, [`OpError::Conflict`] if a skill with this
/// name exists, [`OpError::Unusable`] if the skill cannot be loaded or copied,
/// [`OpError::Unavailable`].
pub fn add(ctx: &LibraryContext<'_>, request: &AddSkillRequest) -> Result<SkillReply, OpError> {
    let AddSkillRequest { from, to } = request;
    if !from.exists() {
        return Err(OpError::Absent(format!("there is no {}", from.display())));
    }
    let real = from.canonicalize().map_err(|error| OpError::Unavailable(error.to_string()))?;
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    // If two skills have the same name, neither is loaded.
    if let Ok(other) = ctx.library.skill(&name) {
        let what = format!("there is a skill {name} already ({})", other.location);
        return Err(OpError::Conflict(what));
    }
    let skill = library::add_skill(from, to);
    let skill = skill.map_err(|problem| OpError::Unusable(problem.to_string()))?;
    Ok(SkillReply::new(ctx, &skill))
}
