//! Persistent stores: SQLite and Postgres implementations of the store traits of `core`, artifacts,
//! and the vault.
//!
//! [`SqliteStore`] is one file that several processes may use at once. It stores calls with their
//! outcomes, accepted batches, claims, conversations, messages, runs, approvals with their
//! decisions, grants, switches, usage, artifact metadata, key-value pairs, and the audit. Every row
//! has an owner or belongs to a row that has one. With the feature `postgres` there is also
//! `PostgresStore`: one database that several daemons on several machines share.
//!
//! Invariants
//! - One thread writes. Jobs that are queued while it works go into its next transaction, so many
//!   callers share one commit; each job has its own savepoint, so a failed job does not fail the
//!   others. No write is acknowledged before its commit, with one exception: the intent of a call
//!   that changes nothing is queued before all later writes of this handle, and this handle's reads
//!   wait for it.
//! - Acknowledged writes survive the death of the process. Calls that may change something,
//!   accepted batches, approvals, decisions, grants, switches, claims, taken runs and paused runs
//!   also survive power loss (`synchronous = FULL`). Other rows may lose their newest commits on
//!   power loss, but never their order or consistency (`synchronous = NORMAL` in WAL mode).
//! - Every write takes the database's write lock first, so a read-then-write is atomic between
//!   processes too.
//! - An audit record is written in the transaction of the change that it records, and never
//!   changed. Checkpoints are signed with a key that is not in the database, and only synced
//!   records are signed.
//! - A worker is dead if its lock file has no holder or its row has an end; its later writes are
//!   refused.
//! - A full disk refuses new work; reserved space remains for the outcomes of running calls, for
//!   claims and recovery, and for opening the store. A failed disk, a damaged page or a missing
//!   file stops the store: no write is acknowledged afterwards.
//! - All pages are checked at the start after an unclean end, and in the background of a
//!   long-running process.
//! - A new database gets its name only after it is complete and synced: a power cut during creation
//!   leaves either no file or a store that opens.
//! - A foreign file, a file of a newer build, or a file shorter than its header specifies is
//!   refused before it is changed.
//! - Secrets are stored apart from the database, encrypted: [`vault`].
//!
//! Intentionally out of scope: policy, the meaning of messages and states, deletion, and the key
//! and the verification of the audit.

mod artifacts;
mod audit_checkpoints;
mod connection;
mod db_files;
mod disk_reserve;
mod error;
mod exclusive_lock;
mod failpoint;
mod health;
mod inspect;
mod integrity;
mod json;
mod new_database;
#[cfg(feature = "postgres")]
mod postgres;
mod read_pool;
mod schema;
mod schema_version;
mod shared_options;
mod sqlite;
mod tables;
pub mod vault;
mod wal_checkpoint;
mod worker_locks;
mod writer;

pub use artifacts::{ArtifactLimits, Artifacts};
pub use error::OpenError;
pub use exclusive_lock::ExclusiveLock;
pub use health::CommitCounts;
pub use inspect::{Inspection, copy, schema_version};
#[cfg(feature = "postgres")]
pub use postgres::{ConnectError, PostgresStore, SharedArtifacts};
pub use schema_version::SchemaVersion;
pub use shared_options::{Migrations, ProcessIdentity, SharedOptions};
pub use sqlite::{SqliteStore, StoreOptions};
