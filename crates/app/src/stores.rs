//! Stores: one database (SQLite or Postgres), or memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_audit::{AuditKey, KeyError};
use toolcrib_core::store::{DocumentChunkStore, StoreMonitor, UnsharedStore};
use toolcrib_core::{
    ApprovalStore, ArtifactStore, AssistantRowStore, AuditStore, CallHistory, CallStore,
    ConversationAndRunStore, GrantStore, KeyValueStore, MemoryStore, NotificationStore,
    SwitchStore, TaskStore, TokenStore, UsageStore,
};
use toolcrib_engine::store::{
    MemoryApprovals, MemoryArtifacts, MemoryAssistantRows, MemoryAudit, MemoryCalls,
    MemoryDocumentChunks, MemoryGrants, MemoryMemories, MemoryNotifications, MemoryRuns,
    MemorySwitches, MemoryTasks, MemoryTokens, MemoryUsage,
};
#[cfg(feature = "postgres")]
use toolcrib_store::SharedOptions;
use toolcrib_store::{ArtifactLimits, Artifacts, OpenError, SqliteStore, StoreOptions};

/// File name of anchors in the audit folder.
pub const ANCHORS_FILE: &str = "anchors.jsonl";

/// The reason why stores could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoresError {
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] OpenError),
    /// The shared database cannot be used.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Shared(#[from] toolcrib_store::ConnectError),
    /// The signing key of the audit cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The stores of a Toolcrib. Clones share the same stores.
#[derive(Clone)]
pub struct Stores {
    /// Conversations and runs.
    pub runs: Arc<dyn ConversationAndRunStore>,
    /// Calls, accepted batches, and claims of workers.
    pub calls: Arc<dyn CallStore>,
    /// Search over calls.
    pub history: Arc<dyn CallHistory>,
    /// Approvals and questions.
    pub approvals: Arc<dyn ApprovalStore>,
    /// Grants: remembered approvals.
    pub grants: Arc<dyn GrantStore>,
    /// Usage.
    pub usage: Arc<dyn UsageStore>,
    /// Feature switches.
    pub switches: Arc<dyn SwitchStore>,
    /// API tokens.
    pub tokens: Arc<dyn TokenStore>,
    /// Audit records.
    pub audit: Arc<dyn AuditStore>,
    /// Artifacts.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Memories.
    pub memories: Arc<dyn MemoryStore>,
    /// Lists, goals, instructions and documents of the assistant.
    pub assistant_rows: Arc<dyn AssistantRowStore>,
    /// The text of documents.
    pub document_chunks: Arc<dyn DocumentChunkStore>,
    /// Tasks of the scheduler.
    pub tasks: Arc<dyn TaskStore>,
    /// Notifications.
    pub notifications: Arc<dyn NotificationStore>,
    /// Key-value facts.
    pub facts: Arc<dyn KeyValueStore>,
    /// The daemons that share the stores, and figures of their database.
    pub monitor: Arc<dyn StoreMonitor>,
}

impl Stores {
    /// Opens one database file with a folder of artifacts beside it, `DATABASE.artifacts`; or
    /// memory.
    ///
    /// # Errors
    /// [`StoresError`] if the database or the audit key cannot be used.
    pub fn open(database: Option<&Path>) -> Result<Self, StoresError> {
        let Some(path) = database else { return Ok(Self::memory()) };
        let store = SqliteStore::open_with(path, signing_options(&Self::audit_folder(path))?)?;
        let artifacts = artifacts(store.clone(), path);
        Ok(Self::from_store(Arc::new(store), artifacts))
    }

    /// Connects to a Postgres database that several machines share. The audit key and its anchors
    /// stay in this machine's state folder.
    ///
    /// # Errors
    /// [`StoresError`] if the database, the folder or the key cannot be used.
    #[cfg(feature = "postgres")]
    pub async fn connect(
        url: &str,
        state: &Path,
        shared: SharedOptions,
    ) -> Result<Self, StoresError> {
        let options = StoreOptions { shared, ..signing_options(&state.join("audit"))? };
        let store = toolcrib_store::PostgresStore::connect(url, options).await?;
        let artifacts = toolcrib_store::SharedArtifacts::new(
            store.clone(),
            state.join("artifacts.partial"),
            ArtifactLimits::default(),
        );
        Ok(Self::from_store(Arc::new(store), Arc::new(artifacts)))
    }

    /// Opens a database without the audit key, for inspection: closing it signs no checkpoint. A
    /// missing database counts as empty.
    ///
    /// # Errors
    /// [`StoresError`] if the database cannot be used.
    pub fn unsigned(database: &Path) -> Result<Self, StoresError> {
        let store = if database.exists() {
            SqliteStore::open(database)?
        } else {
            SqliteStore::in_memory()?
        };
        Ok(Self::from_store(Arc::new(store), Arc::new(MemoryArtifacts::default())))
    }

    /// Connects to a shared database without the audit key.
    ///
    /// # Errors
    /// [`StoresError`] if the database cannot be used.
    #[cfg(feature = "postgres")]
    pub async fn connect_unsigned(url: &str, shared: SharedOptions) -> Result<Self, StoresError> {
        let options = StoreOptions { shared, ..StoreOptions::default() };
        let store = toolcrib_store::PostgresStore::connect(url, options).await?;
        Ok(Self::from_store(Arc::new(store), Arc::new(MemoryArtifacts::default())))
    }

    fn from_store<S>(store: Arc<S>, artifacts: Arc<dyn ArtifactStore>) -> Self
    where
        S: ConversationAndRunStore
            + CallStore
            + CallHistory
            + ApprovalStore
            + GrantStore
            + UsageStore
            + SwitchStore
            + TokenStore
            + AuditStore
            + KeyValueStore
            + MemoryStore
            + TaskStore
            + NotificationStore
            + AssistantRowStore
            + DocumentChunkStore
            + StoreMonitor
            + 'static,
    {
        Self {
            runs: Arc::clone(&store) as Arc<dyn ConversationAndRunStore>,
            calls: Arc::clone(&store) as Arc<dyn CallStore>,
            history: Arc::clone(&store) as Arc<dyn CallHistory>,
            approvals: Arc::clone(&store) as Arc<dyn ApprovalStore>,
            grants: Arc::clone(&store) as Arc<dyn GrantStore>,
            usage: Arc::clone(&store) as Arc<dyn UsageStore>,
            switches: Arc::clone(&store) as Arc<dyn SwitchStore>,
            tokens: Arc::clone(&store) as Arc<dyn TokenStore>,
            audit: Arc::clone(&store) as Arc<dyn AuditStore>,
            artifacts,
            memories: Arc::clone(&store) as Arc<dyn MemoryStore>,
            assistant_rows: Arc::clone(&store) as Arc<dyn AssistantRowStore>,
            document_chunks: Arc::clone(&store) as Arc<dyn DocumentChunkStore>,
            tasks: Arc::clone(&store) as Arc<dyn TaskStore>,
            notifications: Arc::clone(&store) as Arc<dyn NotificationStore>,
            monitor: Arc::clone(&store) as Arc<dyn StoreMonitor>,
            facts: store,
        }
    }

    /// Returns the folder of a database's audit key and anchors: `audit` beside it.
    #[must_use]
    pub fn audit_folder(database: &Path) -> PathBuf {
        database.with_file_name("audit")
    }

    /// Creates in-memory stores, which are lost with the process.
    #[must_use]
    pub fn memory() -> Self {
        let runs = Arc::new(MemoryRuns::default());
        let calls = Arc::new(MemoryCalls::default());
        Self {
            runs: Arc::clone(&runs) as Arc<dyn ConversationAndRunStore>,
            calls: Arc::clone(&calls) as Arc<dyn CallStore>,
            history: Arc::clone(&calls) as Arc<dyn CallHistory>,
            approvals: Arc::new(MemoryApprovals::default()),
            grants: Arc::new(MemoryGrants::default()),
            usage: Arc::new(MemoryUsage::with_calls(calls)),
            switches: Arc::new(MemorySwitches::default()),
            tokens: Arc::new(MemoryTokens::default()),
            audit: Arc::new(MemoryAudit::default()),
            artifacts: Arc::new(MemoryArtifacts::default()),
            memories: Arc::new(MemoryMemories::default()),
            assistant_rows: Arc::new(MemoryAssistantRows::default()),
            document_chunks: Arc::new(MemoryDocumentChunks::default()),
            tasks: Arc::new(MemoryTasks::default()),
            notifications: Arc::new(MemoryNotifications::default()),
            facts: runs,
            monitor: Arc::new(UnsharedStore),
        }
    }
}

/// Returns the store options with the key and the anchors of this folder.
fn signing_options(folder: &Path) -> Result<StoreOptions, StoresError> {
    Ok(StoreOptions {
        signer: Some(Arc::new(AuditKey::open(folder)?)),
        anchors: Some(folder.join(ANCHORS_FILE)),
        ..StoreOptions::default()
    })
}

/// Returns an artifact store with its rows in this store and its files beside its database.
fn artifacts(store: SqliteStore, database: &Path) -> Arc<dyn ArtifactStore> {
    let limits = ArtifactLimits::default();
    Arc::new(
        Artifacts::new(store, artifact_folder(database), limits).collect_garbage_in_background(),
    )
}

/// Returns the artifact folder of a database. It must be exclusive, because unknown files in it are
/// deleted.
fn artifact_folder(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".artifacts");
    name.into()
}
