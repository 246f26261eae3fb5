//! Runs in the replies of operations.

mod snapshot;

pub use snapshot::{
    ModelAnswer, RunSnapshot, RunState, SnapshotCall, SnapshotItem, args_value, to_value,
};
