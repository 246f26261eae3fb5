//! Runs of agents: their rows, their state, the questions for which they wait.

mod exit_code;
mod list;
mod row;
mod show;
mod snapshot;
mod stored_snapshot;
mod stored_state;
mod waiting;
mod worker;

pub use exit_code::ExitCodeTally;
pub use list::{ListRunsRequest, RunsReply, list};
pub use row::RunRow;
pub use show::{find, show};
pub use snapshot::{ModelAnswer, RunSnapshot, SnapshotCall, SnapshotItem, args_value, to_value};
pub use stored_snapshot::load_snapshot;
pub use stored_state::{pending_questions, status_text};
pub use waiting::{WaitingRun, open_questions, require_decision, waiting};
pub use worker::{WORKER, has_live_worker, worker_of};
