//! Lists skills.

use super::skill::{SkillReply, all};
use crate::library::{FileProblem, LibraryContext, problems_of};

/// Skills with what is wrong with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSkillsReply {
    /// All skills that can be loaded.
    pub skills: Vec<SkillReply>,
    /// Files of skills that cannot be loaded, and why.
    pub problems: Vec<FileProblem>,
}

/// Lists the skills, those that are switched off too.
#[must_use]
pub fn list(ctx: &LibraryContext<'_>) -> ListSkillsReply {
    ListSkillsReply {
        skills: all(ctx).map(|skill| SkillReply::new(ctx, skill)).collect(),
        problems: problems_of(ctx, "skills", &ctx.folders.skills),
    }
}
