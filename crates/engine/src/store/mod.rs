//! The in-memory stores, and artifacts as files.

mod approvals;
mod artifacts;
mod audit;
mod calls;
mod conversations;
mod grants;
mod metrics;
mod switches;
mod usage;

pub use approvals::MemoryApprovals;
pub use artifacts::{FileArtifacts, MemoryArtifacts};
pub use audit::MemoryAudit;
pub use calls::MemoryCalls;
pub use conversations::MemoryRuns;
pub use grants::MemoryGrants;
pub use switches::MemorySwitches;
pub use usage::MemoryUsage;
