//! Lists skills.

use super::skill::{SkillReply, all};
use crate::library::{FileProblem, LibraryContext, problems_of};

/// The skills, and the faults of broken files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSkillsReply {
    /// All skills that can be loaded.
    pub skills: Vec<SkillReply>,
    /// Files of skills that cannot be loaded, with the reasons.
    pub problems: Vec<FileProblem>,
}

/// Lists the skills, including disabled ones.
#[must_use]
pub fn list(ctx: &LibraryContext<'_>) -> ListSkillsReply {
    ListSkillsReply {
        skills: all(ctx).map(|skill| SkillReply::new(ctx, skill)).collect(),
        problems: problems_of(ctx, "skills", &ctx.folders.skills),
    }
}
