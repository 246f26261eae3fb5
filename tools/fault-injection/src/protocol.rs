//! The lines of JSON that a worker sends to its parent: only facts that its callers know by then.
//! The parent reads every line that was written, even if the worker dies.

use std::io::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{ApprovalId, CallId, OutcomeKind};

use crate::kill_point::PlannedKill;

/// What a worker is told to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The database.
    pub(crate) database: PathBuf,
    /// Where the tools write down what they did.
    pub(crate) truth: PathBuf,
    /// Which process this is.
    pub(crate) incarnation: u32,
    /// What its choices follow from.
    pub(crate) seed: u64,
    /// Where it dies.
    pub(crate) die: Option<PlannedKill>,
    /// What it does after it has recovered.
    pub(crate) then: WorkerTask,
}

/// What a worker does after it has recovered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkerTask {
    /// Sends so many batches, and dies.
    Load {
        /// Batches.
        batches: u32,
        /// A file that makes room on a disk that was full, for the time after the load.
        room: Option<PathBuf>,
    },
    /// Decides what is open, asks again for everything that was asked for, and ends.
    Settle {
        /// Batches that were sent under a key: a file of [`SentBatch`] lines.
        resend: PathBuf,
    },
}

/// A call as it was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SentCall {
    pub(crate) id: CallId,
    pub(crate) tool: String,
    pub(crate) args: Value,
}

/// A batch as it was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SentBatch {
    pub(crate) key: Option<String>,
    pub(crate) calls: Vec<SentCall>,
}

/// An answer as a caller gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallAnswer {
    pub(crate) call: CallId,
    /// `None` = it has none yet: it waits for a person, or runs.
    pub(crate) kind: Option<OutcomeKind>,
    /// What the caller reads, whole.
    pub(crate) text: String,
}

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub(crate) enum WorkerMessage {
    /// The store could not be opened.
    NotOpened { error: String },
    /// The worker has its claim.
    Ready,
    /// What others had left is dealt with.
    Recovered { unknown: usize, interrupted: usize, batches: usize },
    /// About to be sent.
    Sending(SentBatch),
    /// A batch was accepted.
    Accepted { calls: Vec<CallId> },
    /// A batch was not accepted.
    Refused { error: String },
    /// A call was answered.
    Answered(CallAnswer),
    /// A decision was taken, and its approver was told.
    Decided { approval: ApprovalId, call: CallId, word: String },
    /// Two decided at once, and so many of them were told that theirs was taken.
    Raced { approval: ApprovalId, taken: u32 },
    /// A batch that was asked for again under its key, twice.
    Again { key: String, first: Vec<CallAnswer>, second: Vec<CallAnswer> },
    /// The load is over.
    Drained,
    /// One more call that changes something, at the very end.
    Probe { kind: Option<OutcomeKind>, text: String, has_room: bool },
    /// All is done, and the claim given back.
    Ended,
}

/// Says it, whole and at once.
pub(crate) fn send(said: &WorkerMessage) {
    let Ok(mut line) = serde_json::to_vec(said) else { return };
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    // A parent that went away is killing this process.
    let _ = out.write_all(&line).and_then(|()| out.flush());
}
