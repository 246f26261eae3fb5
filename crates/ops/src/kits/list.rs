//! Lists kits.

use super::kit::KitReply;
use crate::library::{FileProblem, LibraryContext, problems_of};

/// The kits, and the faults of broken files.
#[derive(Debug, Clone, PartialEq)]
pub struct ListKitsReply {
    /// All kits that can be used.
    pub kits: Vec<KitReply>,
    /// Files of kits that cannot be loaded, with the reasons.
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
