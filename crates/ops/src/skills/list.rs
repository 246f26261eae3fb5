//! Lists skills.

use super::skill::SkillReply;
use crate::library::{FileProblem, LibraryContext, problems_of};

/// Skills with what is wrong with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSkillsReply {
    /// All skills that can be loaded.
    pub skills: Vec<SkillReply>,
    /// Files of skills that cannot be loaded, and why.
    pub problems: Vec<FileProblem>,
}

/// Lists the skills.
#[must_use]
pub fn list(ctx: &LibraryContext<'_>) -> ListSkillsReply {
    ListSkillsReply {
        skills: ctx.library.skills.iter().map(SkillReply::from).collect(),
        problems: problems_of(ctx, "skills", &ctx.folders.skills),
    }
}
