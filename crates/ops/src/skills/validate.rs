//! Checks a skill more strictly than loading it does.

use std::path::PathBuf;

use toolcrib_agent::library::validate_skill;

use super::skill::find;
use crate::error::OpError;
use crate::library::{FileProblem, LibraryContext, LibraryReport};

/// The skill to check.
#[derive(Debug, Clone)]
pub enum ValidateSkillRequest {
    /// A skill of the library, by its name.
    Name(String),
    /// A folder, or the `SKILL.md` in it.
    Path(PathBuf),
}

/// Checks a skill: unknown keys, metadata that is not text, and names of missing tools also count
/// as faults.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Absent`] if the file does not exist.
pub fn validate(
    ctx: &LibraryContext<'_>,
    request: ValidateSkillRequest,
) -> Result<LibraryReport, OpError> {
    let path = match request {
        ValidateSkillRequest::Path(path) if path.exists() => path,
        ValidateSkillRequest::Path(path) => {
            return Err(OpError::Absent(format!("there is no {}", path.display())));
        }
        ValidateSkillRequest::Name(name) => match find(ctx, &name)?.location.path() {
            Some(path) => path.to_owned(),
            // Built-in skills were checked when the program was built.
            None => return Ok(LibraryReport::new(Vec::new())),
        },
    };
    let problems = validate_skill(&path, Some(&ctx.tool_names()));
    Ok(LibraryReport::new(problems.iter().map(FileProblem::from).collect()))
}
