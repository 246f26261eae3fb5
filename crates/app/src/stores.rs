//! Where things are kept: one database, or memory.

use std::path::Path;
use std::sync::Arc;

use toolcrib_core::{
    ApprovalStore, AuditStore, CallHistory, CallStore, Checkpoints, FactStore, GrantStore,
    SwitchStore, UsageStore,
};
use toolcrib_engine::store::{
    MemoryApprovals, MemoryAudit, MemoryCalls, MemoryGrants, MemoryRuns, MemorySwitches, MemoryUsage,
};
use toolcrib_store::{OpenError, SqliteStore};

/// The stores of a Toolcrib. Clones are the same stores.
#[derive(Clone)]
pub struct Stores {
    /// Conversations and runs.
    pub runs: Arc<dyn Checkpoints>,
    /// Calls, accepted batches, and whoever works on them.
    pub calls: Arc<dyn CallStore>,
    /// Looking back at calls.
    pub history: Arc<dyn CallHistory>,
    /// Questions to people.
    pub approvals: Arc<dyn ApprovalStore>,
    /// Remembered approvals.
    pub grants: Arc<dyn GrantStore>,
    /// What was used.
    pub usage: Arc<dyn UsageStore>,
    /// Switches.
    pub switches: Arc<dyn SwitchStore>,
    /// The audit.
    pub audit: Arc<dyn AuditStore>,
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
            calls: Arc::clone(&store) as Arc<dyn CallStore>,
            history: Arc::clone(&store) as Arc<dyn CallHistory>,
            approvals: Arc::clone(&store) as Arc<dyn ApprovalStore>,
            grants: Arc::clone(&store) as Arc<dyn GrantStore>,
            usage: Arc::clone(&store) as Arc<dyn UsageStore>,
            switches: Arc::clone(&store) as Arc<dyn SwitchStore>,
            audit: Arc::clone(&store) as Arc<dyn AuditStore>,
            facts: store,
        })
    }

    /// In memory: gone with the process.
    #[must_use]
    pub fn memory() -> Self {
        let runs = Arc::new(MemoryRuns::default());
        let calls = Arc::new(MemoryCalls::default());
        Self {
            runs: Arc::clone(&runs) as Arc<dyn Checkpoints>,
            calls: Arc::clone(&calls) as Arc<dyn CallStore>,
            history: calls,
            approvals: Arc::new(MemoryApprovals::default()),
            grants: Arc::new(MemoryGrants::default()),
            usage: Arc::new(MemoryUsage::default()),
            switches: Arc::new(MemorySwitches::default()),
            audit: Arc::new(MemoryAudit::default()),
            facts: runs,
        }
    }
}
