//! Where things are kept: one database, or memory.

use std::path::Path;
use std::sync::Arc;

use toolcrib_core::{ApprovalStore, Checkpoints, FactStore, GrantStore};
use toolcrib_engine::store::{MemoryApprovals, MemoryGrants, MemoryRuns};
use toolcrib_store::{OpenError, SqliteStore};

/// The stores of a Toolcrib. Clones are the same stores.
#[derive(Clone)]
pub struct Stores {
    /// Conversations and runs.
    pub runs: Arc<dyn Checkpoints>,
    /// Questions to people.
    pub approvals: Arc<dyn ApprovalStore>,
    /// Remembered approvals.
    pub grants: Arc<dyn GrantStore>,
    /// Small facts.
    pub facts: Arc<dyn FactStore>,
}

impl Stores {
    /// All in one database file, or in memory.
    ///
    /// # Errors
    /// [`OpenError`] when the file cannot be used.
    pub fn open(database: Option<&Path>) -> Result<Self, OpenError> {
        let Some(path) = database else { return Ok(Self::memory()) };
        let store = Arc::new(SqliteStore::open(path)?);
        Ok(Self {
            runs: Arc::clone(&store) as Arc<dyn Checkpoints>,
            approvals: Arc::clone(&store) as Arc<dyn ApprovalStore>,
            grants: Arc::clone(&store) as Arc<dyn GrantStore>,
            facts: store,
        })
    }

    /// In memory: gone with the process.
    #[must_use]
    pub fn memory() -> Self {
        let runs = Arc::new(MemoryRuns::default());
        Self {
            runs: Arc::clone(&runs) as Arc<dyn Checkpoints>,
            approvals: Arc::new(MemoryApprovals::default()),
            grants: Arc::new(MemoryGrants::default()),
            facts: runs,
        }
    }
}
