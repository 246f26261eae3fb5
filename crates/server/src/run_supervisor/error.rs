//! Errors of starting, resuming and reading runs.

use toolcrib_app::SubmitError;
use toolcrib_app::runner::RunnerError;
use toolcrib_core::{ConversationId, RunId, StoreError};

use super::run_registry::RunRefused;
use crate::daemon_host::HostError;

/// An error of starting, resuming or reading a run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// The daemon is stopping.
    #[error("the daemon is stopping")]
    Stopping,
    /// The conversation does not exist, or belongs to another owner.
    #[error("there is no conversation {0}")]
    UnknownConversation(ConversationId),
    /// The token is limited to some tools, and other principals had runs in the conversation.
    #[error(
        "the conversation {0} has runs of others, and this token is limited to some tools; begin another conversation"
    )]
    ConversationOfOthers(ConversationId),
    /// A run of this conversation has not ended: two runs would overwrite each other's messages.
    #[error("the run {run} {} in this conversation; {}, or begin another conversation", .why.state(), .why.advice())]
    ConversationBusy {
        /// The unfinished run.
        run: RunId,
        /// Its state.
        why: BusyReason,
    },
    /// A limit on runs is reached, or the run is already active.
    #[error(transparent)]
    Refused(#[from] RunRefused),
    /// The idempotency key was used for another request.
    #[error("this Idempotency-Key was used for another request; use a new one for each request")]
    KeyReused,
    /// The idempotency key is invalid.
    #[error(transparent)]
    InvalidKey(SubmitError),
    /// Another process starts a run under the same key and has not stored it yet.
    #[error("another daemon is starting this run; send the same request again")]
    StartingElsewhere,
    /// The program around the daemon refused the run.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The runner refused the run.
    #[error(transparent)]
    Runner(RunnerError),
    /// The task of the run panicked.
    #[error("the run failed before it started")]
    Panicked,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a conversation is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BusyReason {
    /// The run waits for a person.
    Paused,
    /// The run has no process and will be recovered soon.
    Abandoned,
    /// The run is active.
    Active,
}

impl BusyReason {
    fn state(self) -> &'static str {
        match self {
            Self::Paused => "waits for a person",
            Self::Abandoned => "is about to be resumed",
            Self::Active => "is active",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Paused => "decide its question or stop it",
            Self::Abandoned | Self::Active => "wait for it or stop it",
        }
    }
}
