//! The library: the files of agents, skills, kits and guides.

mod context;
mod file_problem;
mod problems;
mod source;

pub use context::LibraryContext;
pub use file_problem::FileProblem;
pub use problems::{LibraryReport, problems};
pub use source::FileSource;

pub(crate) use problems::problems_of;
