//! The in-memory stores, and artifacts as files.

mod approvals;
mod artifacts;
mod calls;
mod conversations;
mod grants;

pub use approvals::MemoryApprovals;
pub use artifacts::{FileArtifacts, MemoryArtifacts};
pub use calls::MemoryCalls;
pub use conversations::MemoryRuns;
pub use grants::MemoryGrants;
