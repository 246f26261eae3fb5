//! Where things are kept: one database, or memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::{
    ApprovalStore, ArtifactStore, AuditStore, CallHistory, CallStore, Checkpoints, FactStore,
    GrantStore, SwitchStore, TokenStore, UsageStore,
};
use toolcrib_engine::audit::{AuditKey, KeyError};
use toolcrib_engine::store::{
    MemoryApprovals, MemoryArtifacts, MemoryAudit, MemoryCalls, MemoryGrants, MemoryRuns,
    MemorySwitches, MemoryTokens, MemoryUsage,
};
use toolcrib_store::{ArtifactLimits, Artifacts, OpenError, SqliteStore, StoreOptions};

/// Name of the file of anchors in the folder of the audit.
pub const ANCHORS: &str = "anchors.jsonl";

/// Why stores could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoresError {
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] OpenError),
    /// The shared database cannot be used.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Shared(#[from] toolcrib_store::ConnectError),
    /// The key that signs the audit cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
}

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
    /// Tokens of people and programs.
    pub tokens: Arc<dyn TokenStore>,
    /// The audit.
    pub audit: Arc<dyn AuditStore>,
    /// Stored results.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Small facts.
    pub facts: Arc<dyn FactStore>,
}

impl Stores {
    /// All in one database file with a folder of artifacts beside it, `DATABASE.artifacts`; or in memory.
    ///
    /// # Errors
    /// [`StoresError`] when the database or the key of the audit cannot be used.
    pub fn open(database: Option<&Path>) -> Result<Self, StoresError> {
        let Some(path) = database else { return Ok(Self::memory()) };
        let store = SqliteStore::open_with(path, signed(&Self::audit_folder(path))?)?;
        let artifacts = artifacts(store.clone(), path);
        Ok(Self::of(Arc::new(store), artifacts))
    }

    /// Everything in a Postgres database that several machines share; the key of the audit, its anchors and the artifacts are in this
    /// machine's state folder.
    ///
    /// # Errors
    /// [`StoresError`] when the database, the folder or the key cannot be used.
    #[cfg(feature = "postgres")]
    pub async fn connect(url: &str, state: &Path) -> Result<Self, StoresError> {
        let options = signed(&state.join("audit"))?;
        let store = toolcrib_store::PostgresStore::connect(url, options).await?;
        // Rows of artifacts stay beside their files.
        let local = state.join("artifacts.db");
        let artifacts = artifacts(SqliteStore::open(&local)?, &local);
        Ok(Self::of(Arc::new(store), artifacts))
    }

    /// The same database without the key of its audit, to be looked at: closing it signs nothing. One that is gone is empty.
    ///
    /// # Errors
    /// [`StoresError`] when the database cannot be used.
    pub fn unsigned(database: &Path) -> Result<Self, StoresError> {
        let store = if database.exists() {
            SqliteStore::open(database)?
        } else {
            SqliteStore::in_memory()?
        };
        Ok(Self::of(Arc::new(store), Arc::new(MemoryArtifacts::default())))
    }

    /// The same of a shared database.
    ///
    /// # Errors
    /// [`StoresError`] when the database cannot be used.
    #[cfg(feature = "postgres")]
    pub async fn connect_unsigned(url: &str) -> Result<Self, StoresError> {
        let store = toolcrib_store::PostgresStore::connect(url, StoreOptions::default()).await?;
        Ok(Self::of(Arc::new(store), Arc::new(MemoryArtifacts::default())))
    }

    fn of<S>(store: Arc<S>, artifacts: Arc<dyn ArtifactStore>) -> Self
    where
        S: Checkpoints
            + CallStore
            + CallHistory
            + ApprovalStore
            + GrantStore
            + UsageStore
            + SwitchStore
            + TokenStore
            + AuditStore
            + FactStore
            + 'static,
    {
        Self {
            runs: Arc::clone(&store) as Arc<dyn Checkpoints>,
            calls: Arc::clone(&store) as Arc<dyn CallStore>,
            history: Arc::clone(&store) as Arc<dyn CallHistory>,
            approvals: Arc::clone(&store) as Arc<dyn ApprovalStore>,
            grants: Arc::clone(&store) as Arc<dyn GrantStore>,
            usage: Arc::clone(&store) as Arc<dyn UsageStore>,
            switches: Arc::clone(&store) as Arc<dyn SwitchStore>,
            tokens: Arc::clone(&store) as Arc<dyn TokenStore>,
            audit: Arc::clone(&store) as Arc<dyn AuditStore>,
            artifacts,
            facts: store,
        }
    }

    /// Where the key of a database's audit and its anchors are: the folder `audit` beside it.
    #[must_use]
    pub fn audit_folder(database: &Path) -> PathBuf {
        database.with_file_name("audit")
    }

    /// In memory: gone with the process.
    #[must_use]
    pub fn memory() -> Self {
        let runs = Arc::new(MemoryRuns::default());
        let calls = Arc::new(MemoryCalls::default());
        Self {
            runs: Arc::clone(&runs) as Arc<dyn Checkpoints>,
            calls: Arc::clone(&calls) as Arc<dyn CallStore>,
            history: Arc::clone(&calls) as Arc<dyn CallHistory>,
            approvals: Arc::new(MemoryApprovals::default()),
            grants: Arc::new(MemoryGrants::default()),
            usage: Arc::new(MemoryUsage::with_calls(calls)),
            switches: Arc::new(MemorySwitches::default()),
            tokens: Arc::new(MemoryTokens::default()),
            audit: Arc::new(MemoryAudit::default()),
            artifacts: Arc::new(MemoryArtifacts::default()),
            facts: runs,
        }
    }
}

/// A store's options with the key of this folder, and the anchors in it.
fn signed(folder: &Path) -> Result<StoreOptions, StoresError> {
    Ok(StoreOptions {
        signer: Some(Arc::new(AuditKey::open(folder)?)),
        anchors: Some(folder.join(ANCHORS)),
        ..StoreOptions::default()
    })
}

/// Artifacts with their rows in this store and their files beside its database.
fn artifacts(store: SqliteStore, database: &Path) -> Arc<dyn ArtifactStore> {
    let limits = ArtifactLimits::default();
    Arc::new(Artifacts::new(store, beside(database), limits).sweep_soon())
}

/// The folder of a database's artifacts: its own, as files that it does not know are removed from there.
fn beside(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".artifacts");
    name.into()
}
