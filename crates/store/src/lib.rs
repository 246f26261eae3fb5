//! The stores on disk: SQLite behind the store traits of `core`.
//!
//! [`SqliteStore`] is one file that several processes may use at once. It keeps calls with their outcomes, accepted batches, whoever works
//! on them, conversations, messages, runs, questions to people with their decisions, grants, switches, usage, artifacts, facts, and the
//! audit of all that. Every row has an owner, or belongs to a row that has one.
//! With the feature `postgres` there is `PostgresStore` too: one database that several daemons on several machines share.
//!
//! Invariants
//! - One thread writes. What is queued while it works goes into its next transaction, so many writers share one commit; each write has a
//!   savepoint of its own, so one that fails does not fail the others. Nothing is answered before it is committed, except that a call
//!   which changes nothing begins: that is queued before everything later of this handle, and its reads wait for it.
//! - What is answered survives the death of the process. Calls that may change something, accepted batches, questions, decisions, grants,
//!   switches, claims, taken runs and paused runs survive power loss too (`synchronous = FULL`); other rows may lose their newest commits
//!   then, never their order or their wholeness (`NORMAL`, in WAL mode).
//! - Every write begins with the database's write lock in hand, so what it reads before it writes holds between processes too.
//! - An audit record is written in the transaction of what it is about, and never changed. Checkpoints are signed with a key that is not in
//!   here, and only what is synced is signed.
//! - A worker is gone when its lock file has no holder or its row says that it has ended; what it writes later is refused.
//! - A disk without room refuses what is new, and keeps some room for the outcomes of what runs. A disk that fails, a damaged page, or a
//!   file that was taken away is the end of the store: nothing is answered as written after it.
//! - A file that is not ours, is newer than this build, or is shorter than it says, is refused before anything in it is touched.
//! - Secrets are kept apart from all that, sealed: [`vault`].
//!
//! Absent on purpose: policy, the meaning of messages and states, deletion, the key of the audit and its verification.

mod artifacts;
mod error;
mod exclusive;
mod failpoint;
mod file;
mod health;
mod json;
mod notary;
mod place;
#[cfg(feature = "postgres")]
mod postgres;
mod readers;
mod reserve;
mod rows;
mod schema;
mod store;
mod survey;
pub mod vault;
mod wal;
mod workers;
mod writer;

pub use artifacts::{ArtifactLimits, Artifacts};
pub use error::OpenError;
pub use exclusive::ExclusiveLock;
pub use health::CommitCounts;
#[cfg(feature = "postgres")]
pub use postgres::{ConnectError, PostgresStore};
pub use store::{SqliteStore, StoreOptions};
pub use survey::{Survey, copy};
