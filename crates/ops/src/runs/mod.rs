//! Runs in the replies of operations.

mod exit_code;
mod snapshot;

pub use exit_code::ExitCodeTally;
pub use snapshot::{
    ModelAnswer, RunSnapshot, RunState, SnapshotCall, SnapshotItem, args_value, to_value,
};
