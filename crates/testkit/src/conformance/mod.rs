//! What every store must do, whatever it is made of: the same tests for the stores in memory and those on disk.
//!
//! Each function wants a store that nobody else uses; [`sequence`](sequence()) wants an empty one.
#![expect(clippy::unwrap_used, reason = "a store that fails here fails the test")]

mod approvals;
mod artifacts;
mod audit;
mod batches;
mod call_rows;
mod call_sequence;
mod calls;
mod conversations;
mod facts;
mod grants;
mod history;
mod model;
mod recovery;
mod rows;
mod runs;
mod sequence;
mod switches;
mod tokens;
mod usage;

pub use approvals::approvals;
pub use artifacts::{artifacts, new_artifact, put};
pub use audit::{TestSigner, audit, audit_chain};
pub use call_rows::{
    accepted, end_with, facts as call_facts, intent, outcome, refusal, settlement,
};
pub use call_sequence::call_sequence;
pub use calls::calls;
pub use conversations::conversations;
pub use facts::facts;
pub use grants::grants;
pub use history::history;
pub use rows::{conversation, message, question, run};
pub use runs::{checkpoints, runs};
pub use sequence::{Stores, sequence};
pub use switches::switches;
pub use tokens::tokens;
pub use usage::usage;
