//! The in-memory stores of a Toolcrib without a database file.
//!
//! SQLite in memory would be equivalent, but `engine` depends on no database, so that a program
//! that embeds it needs none. Both pass the suite in `testkit::conformance`.

mod approvals;
mod artifacts;
mod assistant_rows;
mod audit;
mod calls;
mod conversations;
mod document_chunks;
mod grants;
mod memories;
mod notifications;
mod switches;
mod tasks;
mod tokens;
mod usage;

pub use approvals::MemoryApprovals;
pub use artifacts::MemoryArtifacts;
pub use assistant_rows::MemoryAssistantRows;
pub use audit::MemoryAudit;
pub use calls::MemoryCalls;
pub use conversations::MemoryRuns;
pub use document_chunks::MemoryDocumentChunks;
pub use grants::MemoryGrants;
pub use memories::MemoryMemories;
pub use notifications::MemoryNotifications;
pub use switches::MemorySwitches;
pub use tasks::MemoryTasks;
pub use tokens::MemoryTokens;
pub use usage::MemoryUsage;
