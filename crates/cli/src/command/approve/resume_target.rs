//! Determines where a call waits, and rebuilds its environment so that another process can continue
//! it.

use serde_json::Value;
use toolcrib_app::{Stores, Toolcrib};
use toolcrib_argument_decoder::{Decoded, Limits, Schema, decode_value};
use toolcrib_core::store::PendingApproval;
use toolcrib_core::{RunStatus, StoredRun, WorkerState};
use toolcrib_ops::approvals::ContinuedBy;

use super::question::store_failure;
use crate::bootstrap;
use crate::config::{self, Env};
use crate::output::{self, Failure};
use crate::session::{self, RunSetup};

/// The component that continues a call after the decision.
pub(crate) enum ResumeTarget {
    /// Another process waits for it; the text identifies the process.
    OtherProcess(String),
    /// Its run is paused, or was left by a process that died.
    PausedRun(Box<StoredRun>),
    /// No process: the question belongs to no stored run, and its caller no longer waits.
    NoProcess,
    /// No process can continue it, because its run has ended.
    RunEnded,
}

impl ResumeTarget {
    /// Determines where this question waits.
    ///
    /// # Errors
    /// Exit code 1 if the store cannot be read.
    pub(crate) async fn find(stores: &Stores, waiting: &PendingApproval) -> Result<Self, Failure> {
        let run = match waiting.request.run {
            Some(id) => stores.runs.run(id).await.map_err(store_failure)?,
            None => None,
        };
        match run {
            Some(run) if run.status == RunStatus::Ended => Ok(Self::RunEnded),
            Some(run)
                if run.status == RunStatus::Running
                    && session::has_live_worker(&run, stores).await? =>
            {
                Ok(Self::OtherProcess(format!("the process that works on {}", run.id)))
            }
            Some(run) => Ok(Self::PausedRun(Box::new(run))),
            None => target_of_single_call(stores, waiting).await,
        }
    }
}

impl ResumeTarget {
    /// Returns the target without the run itself, for replies.
    pub(super) fn continued_by(&self) -> ContinuedBy {
        match self {
            Self::OtherProcess(_) => ContinuedBy::Elsewhere,
            Self::PausedRun(_) => ContinuedBy::Run,
            Self::NoProcess => ContinuedBy::Call,
            Self::RunEnded => ContinuedBy::Nobody,
        }
    }
}

/// Returns the target of a call that belongs to no stored run.
async fn target_of_single_call(
    stores: &Stores,
    waiting: &PendingApproval,
) -> Result<ResumeTarget, Failure> {
    let setup = RunSetup::from_value(&waiting.setup).unwrap_or_default();
    let Some(worker) = setup.worker.filter(|_| setup.waits) else {
        return Ok(ResumeTarget::NoProcess);
    };
    match stores.calls.worker(worker).await.map_err(store_failure)? {
        WorkerState::Alive(words) => Ok(ResumeTarget::OtherProcess(words)),
        WorkerState::Gone | WorkerState::Unknown => Ok(ResumeTarget::NoProcess),
    }
}

/// Returns the environment of the process that asked.
pub(super) fn stored_setup(waiting: &PendingApproval) -> Result<RunSetup, Failure> {
    RunSetup::from_value(&waiting.setup).map_err(|_| {
        Failure::run(format!(
            "nothing is stored of the surroundings of {}, so it cannot be carried out here",
            waiting.request.id
        ))
    })
}

/// Builds a Toolcrib with the folders, tools and policy of the process that asked.
///
/// # Errors
/// Exit code 3 if they no longer exist.
pub(super) async fn build_toolcrib(
    stores: &Stores,
    waiting: &PendingApproval,
) -> Result<Toolcrib, Failure> {
    let setup = stored_setup(waiting)?;
    let env = Env::from_process();
    let config = bootstrap::load_config(&setup.workspace_args())?;
    let settings = bootstrap::settings(&setup.workspace_args(), &config)?;
    let builder = Toolcrib::builder(settings)
        .stores(stores.clone())
        .run_setup(waiting.setup.clone())
        .environment(setup.tool_environment())
        .secrets(config::known_keys(&config, &env));
    let toolcrib = builder.build().await?;
    output::set_secrets(&toolcrib.engine().sealing().secrets);
    Ok(toolcrib)
}

/// Returns the reason why the engine would refuse these arguments; `None` if they are valid, or if
/// this process cannot determine that.
pub(super) async fn validation_error(waiting: &PendingApproval, args: &Value) -> Option<String> {
    let setup = stored_setup(waiting).ok()?;
    let config = bootstrap::load_config(&setup.workspace_args()).ok()?;
    let settings = bootstrap::settings(&setup.workspace_args(), &config).ok()?;
    let toolcrib = Toolcrib::builder(settings).for_agents().build().await.ok()?;
    let spec = toolcrib.spec(waiting.request.tool.as_str())?;
    let schema = Schema::check_shared(spec.input_schema.clone()).ok()?;
    match decode_value(args.clone(), &schema, &Limits::DEFAULT) {
        Decoded::Ok { .. } | Decoded::Repaired { .. } => None,
        Decoded::ValidationError { message } | Decoded::ParseError { message } => Some(message),
    }
}
