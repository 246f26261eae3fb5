//! The stores on disk: SQLite behind the store traits of `core`.
//!
//! [`SqliteStore`] is one file that several processes may use at once. It keeps conversations, messages, runs, questions to people with
//! their decisions, grants and facts.
//!
//! Invariants
//! - One thread writes. What is queued while it works goes into its next transaction, so many writers share one commit; each write has a
//!   savepoint of its own, so one that fails does not fail the others. Nothing is answered before it is committed.
//! - What is answered survives the death of the process. Questions, decisions, grants, taken runs and paused runs survive power loss too
//!   (`synchronous = FULL`); other rows may lose their newest commits then, never their order or their wholeness (`NORMAL`, in WAL mode).
//! - Every write begins with the database's write lock in hand, so what it reads before it writes holds between processes too.
//! - A file that is not ours, or is newer than this build, is refused before anything in it is touched.
//!
//! Absent on purpose: policy, the meaning of messages and states, deletion. Calls and their outcomes are not kept here yet.

mod error;
mod file;
mod json;
mod readers;
mod rows;
mod schema;
mod store;
mod writer;

pub use error::OpenError;
pub use store::SqliteStore;
