//! Lists kits.

use super::kit::KitReply;
use crate::library::{FileProblem, LibraryContext, problems_of};

/// Kits with what is wrong with others.
#[derive(Debug, Clone, PartialEq)]
pub struct ListKitsReply {
    /// All kits that can be used.
    pub kits: Vec<KitReply>,
    /// Files of kits that cannot be loaded, and why.
    pub problems: Vec<FileProblem>,
}

/// Lists the kits.
#[must_use]
pub fn list(ctx: &LibraryContext<'_>) -> ListKitsReply {
    ListKitsReply {
        kits: ctx.library.kits.iter().map(KitReply::from).collect(),
        problems: problems_of(ctx, "kits", &ctx.folders.kits),
    }
}
