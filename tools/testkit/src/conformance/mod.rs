//! The conformance tests of stores: the same for those in memory and those on disk.
//!
//! Each function needs a store that no other test uses; [`random_operations`] needs empty ones.
#![expect(clippy::unwrap_used, reason = "a store that fails here fails the test")]

mod approvals;
mod artifacts;
mod assistant_rows;
mod audit;
mod batches;
mod call_fixtures;
mod calls;
mod conversations;
mod document_chunks;
mod fixtures;
mod grants;
mod history;
mod key_values;
mod memories;
mod notifications;
mod random_call_operations;
mod random_operations;
mod recovery;
mod reference_model;
mod runs;
mod switches;
mod tasks;
mod tokens;
mod usage;

pub use approvals::approvals;
pub use artifacts::{artifacts, new_artifact, put};
pub use assistant_rows::assistant_rows;
pub use audit::{TestSigner, audit, audit_chain};
pub use call_fixtures::{
    Recovery, accepted, end_with, facts as call_facts, intent, outcome, recover_and_take, refusal,
    settlement,
};
pub use calls::calls;
pub use conversations::conversations;
pub use document_chunks::document_chunks;
pub use fixtures::{conversation, message, question, run};
pub use grants::grants;
pub use history::history;
pub use key_values::facts;
pub use memories::memories;
pub use notifications::notifications;
pub use random_call_operations::random_call_operations;
pub use random_operations::{Stores, random_operations};
pub use runs::{checkpoints, runs};
pub use switches::switches;
pub use tasks::tasks;
pub use tokens::tokens;
pub use usage::usage;
