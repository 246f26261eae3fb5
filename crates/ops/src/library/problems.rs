//! Lists faults in files of the library.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_agent::library::Folder;

use super::context::LibraryContext;
use super::file_problem::FileProblem;

/// The faults; an empty list means that there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CheckReport")]
pub struct LibraryReport {
    /// Whether there are no faults.
    pub valid: bool,
    /// The faults.
    pub problems: Vec<FileProblem>,
}

impl LibraryReport {
    pub(crate) fn new(problems: Vec<FileProblem>) -> Self {
        Self { valid: problems.is_empty(), problems }
    }
}

/// Lists faults in files of agents, skills, kits and guides.
#[must_use]
pub fn problems(ctx: &LibraryContext<'_>) -> LibraryReport {
    LibraryReport::new(ctx.library.problems.iter().map(FileProblem::from).collect())
}

/// Returns the faults in the files of one kind, such as `agents`, which are read from these
/// folders.
pub(crate) fn problems_of(
    ctx: &LibraryContext<'_>,
    kind: &str,
    folders: &[Folder],
) -> Vec<FileProblem> {
    let shipped = format!("built-in {kind}");
    let all = ctx.library.problems.iter();
    let of_kind = all.filter(|problem| {
        problem.path.starts_with(&shipped)
            || folders.iter().any(|folder| problem.path.starts_with(&folder.path))
    });
    of_kind.map(FileProblem::from).collect()
}
