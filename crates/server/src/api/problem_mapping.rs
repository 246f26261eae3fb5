//! The mapping of errors of other parts of the daemon to [`crate::Problem`].

use serde_json::json;
use toolcrib_agent::driver::DriveError;
use toolcrib_app::SubmitError;
use toolcrib_app::runner::RunnerError;
use toolcrib_ops::OpError;

use crate::admission::{CallRefused, RateLimited, TooManyConnections};
use crate::daemon_host::HostError;
use crate::problem::{Code, Problem};
use crate::run_supervisor::{RunError, RunRefused};

impl From<HostError> for Problem {
    fn from(error: HostError) -> Self {
        OpError::from(error).into()
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::BadKey | SubmitError::SecretKey => {
                Self::new(Code::BadRequest, error.to_string())
            }
            SubmitError::KeyReused(_) | SubmitError::OtherEnvironment(_) => {
                Self::conflict(error.to_string())
            }
            SubmitError::RunningElsewhere(_) => Self::conflict(error.to_string()).retry_after(1),
            SubmitError::Store(error) => error.into(),
        }
    }
}

impl From<TooManyConnections> for Problem {
    fn from(TooManyConnections(limit): TooManyConnections) -> Self {
        let detail = format!("this client has {limit} connections, which is the limit");
        Self::new(Code::RateLimited, detail).retry_after(1)
    }
}

impl From<RateLimited> for Problem {
    fn from(limited: RateLimited) -> Self {
        Self::new(Code::RateLimited, limited.to_string()).retry_after(limited.retry_after)
    }
}

impl From<CallRefused> for Problem {
    fn from(refused: CallRefused) -> Self {
        let detail = refused.to_string();
        match refused {
            CallRefused::Stopping => Self::new(Code::Unavailable, detail).retry_after(5),
            CallRefused::QueueFull | CallRefused::WaitElapsed => {
                Self::new(Code::RateLimited, detail).retry_after(1)
            }
        }
    }
}

impl From<RunRefused> for Problem {
    fn from(refused: RunRefused) -> Self {
        let detail = refused.to_string();
        match refused {
            RunRefused::AlreadyActive => Self::conflict(detail),
            RunRefused::Conversation(run) => Self::conflict(detail).with_extra(json!({"run": run})),
            RunRefused::Client(_) => Self::new(Code::RateLimited, detail).retry_after(1),
            RunRefused::Full(_) => Self::new(Code::Unavailable, detail).retry_after(1),
        }
    }
}

impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        let detail = error.to_string();
        match error {
            RunError::Stopping => Self::new(Code::Unavailable, detail).retry_after(5),
            RunError::UnknownConversation(_) => Self::not_found(detail),
            RunError::ConversationOfOthers(_) => Self::new(Code::Forbidden, detail),
            RunError::ConversationBusy { run, .. } => {
                Self::conflict(detail).with_extra(json!({"run": run}))
            }
            RunError::Refused(refused) => refused.into(),
            RunError::KeyReused => Self::conflict(detail),
            RunError::InvalidKey(error) => error.into(),
            RunError::StartingElsewhere => Self::new(Code::Unavailable, detail).retry_after(1),
            RunError::Host(error) => error.into(),
            RunError::Runner(error) => runner_problem(error),
            RunError::Panicked => Self::new(Code::Internal, detail),
            RunError::Store(error) => error.into(),
        }
    }
}

fn runner_problem(error: RunnerError) -> Problem {
    let detail = error.to_string();
    match error {
        RunnerError::UnknownRun(_) => Problem::not_found(detail),
        RunnerError::NotPaused(_) | RunnerError::Restore(_) => Problem::conflict(detail),
        RunnerError::Agent(_) | RunnerError::Drive(DriveError::NoModel | DriveError::Run(_)) => {
            Problem::invalid(detail)
        }
        RunnerError::Store(error) | RunnerError::Drive(DriveError::Store(error)) => error.into(),
        RunnerError::Drive(DriveError::HandedOver) => RunError::Stopping.into(),
    }
}
