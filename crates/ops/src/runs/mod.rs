//! Runs in the replies of operations.

mod snapshot;
mod tally;

pub use snapshot::{
    ModelAnswer, RunSnapshot, RunState, SnapshotCall, SnapshotItem, args_value, to_value,
};
pub use tally::RunTally;
