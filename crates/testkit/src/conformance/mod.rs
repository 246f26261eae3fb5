//! What every store must do, whatever it is made of: the same tests for the stores in memory and those on disk.
//!
//! Each function wants a store that nobody else uses; [`sequence`](sequence()) wants an empty one.
#![expect(clippy::unwrap_used, reason = "a store that fails here fails the test")]

mod approvals;
mod conversations;
mod facts;
mod grants;
mod model;
mod rows;
mod runs;
mod sequence;

pub use approvals::approvals;
pub use conversations::conversations;
pub use facts::facts;
pub use grants::grants;
pub use rows::{conversation, message, question, run};
pub use runs::{checkpoints, runs};
pub use sequence::{Stores, sequence};
