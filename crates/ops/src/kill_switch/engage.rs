//! Stops every tool.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::{KillSwitchState, RunningCall, SWITCH_CACHE_TTL, SwitchTarget, Toolcrib};
use toolcrib_core::{Clock as _, StoreError, Switch, SwitchState, SystemClock};

use super::context::{KillSwitchContext, OWNER, ToolProcess};
use super::show::{KillSwitchStatus, status};
use super::stopped_calls::{self, StoppedCall};
use crate::error::OpError;

/// Time for cancelled calls to end; the reply reports a call that takes longer as running.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of stored characters of the reason.
const REASON_CHARS: usize = 1_000;

/// The reason for stopping tools, and the handling of running calls.
#[derive(Debug, Clone, Default)]
pub struct EngageRequest {
    /// The reason, in words for people; known secrets are masked in it.
    pub reason: String,
    /// Whether running calls may finish; otherwise they are cancelled.
    pub finish_running: bool,
}

/// The reason for stopping tools, and the handling of running calls.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StopBody {
    /// The reason, in words for people.
    #[schemars(length(max = 1000))]
    pub reason: String,
    /// Whether running calls are cancelled, too; `false` = they run to their end.
    pub stop_running: Option<bool>,
}

impl From<StopBody> for EngageRequest {
    fn from(body: StopBody) -> Self {
        Self { reason: body.reason, finish_running: body.stop_running == Some(false) }
    }
}

impl From<EngageRequest> for StopBody {
    fn from(request: EngageRequest) -> Self {
        Self { reason: request.reason, stop_running: Some(!request.finish_running) }
    }
}

/// The state of the kill switch, and the outcomes of the calls that were running.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Stopped")]
pub struct EngageReply {
    /// The current state.
    #[serde(flatten)]
    pub switch: KillSwitchStatus,
    /// Calls that were running on this daemon.
    pub calls: Vec<StoppedCall>,
    /// Why the file could not be written. The row is then set: processes obey it when they next
    /// read switches.
    #[serde(skip)]
    pub file_error: Option<String>,
}

/// Stops every tool. After the reply, no call starts.
///
/// # Errors
/// [`OpError::Unavailable`] if the row cannot be written; the text states whether the file was
/// written.
pub async fn engage(
    ctx: &KillSwitchContext<'_>,
    request: EngageRequest,
) -> Result<EngageReply, OpError> {
    let now = SystemClock.now_ms();
    let stop_running = !request.finish_running;
    let mask = |process: ToolProcess<'_>| {
        process.toolcrib.engine().sealing().secrets.mask(request.reason.clone())
    };
    let why = ctx.process.map_or_else(|| request.reason.clone(), mask);
    let stop = KillSwitchState {
        by: ctx.actor.to_owned(),
        at: now,
        why: why.chars().take(REASON_CHARS).collect(),
        finish_running: request.finish_running,
    };
    // Read the running calls before and after: the watcher of the file may stop calls before the
    // next line runs.
    let mut running = running_calls(ctx.process);
    // Write the file first: it needs nothing that could be broken, and takes effect at once.
    let file = ctx.file.engage(stop);
    running.extend(running_calls(ctx.process));
    running.sort_by_key(|call| (call.started_at_ms, call.call));
    running.dedup_by_key(|call| call.call);
    let stop_calls = || match ctx.process {
        Some(process) if stop_running => drop(process.toolcrib.stop_calls()),
        _ => {}
    };
    // Stopping waits for nothing, not even for the store.
    stop_calls();
    let store = (ctx.open_store)();
    let row = match &store {
        Ok(store) => {
            let name = SwitchTarget::Everything.name();
            let (owner, by) = (OWNER.to_owned(), ctx.actor.to_owned());
            let switch = Switch { owner, name, state: SwitchState::Off, by, at: now };
            store.set_switch(switch).await.map_err(OpError::from)
        }
        Err(error) => Err(error.clone()),
    };
    let refreshed = refresh(ctx.process).await;
    stop_calls();
    let file_error = file.as_ref().err().map(ToString::to_string);
    let store = match (file_error.is_none(), row.and(store)) {
        (_, Ok(store)) => store,
        (true, Err(error)) => {
            return Err(OpError::Unavailable(format!(
                "all tools are off on this machine, but the switch could not be stored, so daemons of other machines continue: {error}"
            )));
        }
        (false, Err(error)) => {
            let path = ctx.file.path.display();
            let why = file_error.unwrap_or_default();
            return Err(OpError::Unavailable(format!(
                "nothing is stopped: neither {path} ({why}) nor the switch in the store could be written: {error}"
            )));
        }
    };
    refreshed?;
    let calls = match ctx.process {
        Some(process) => wait_until_stopped(process, running, stop_running).await,
        None => Vec::new(),
    };
    Ok(EngageReply { switch: status(ctx, &*store).await?, calls, file_error })
}

fn running_calls(process: Option<ToolProcess<'_>>) -> Vec<RunningCall> {
    process.map(|process| process.toolcrib.engine().running_calls()).unwrap_or_default()
}

pub(super) async fn refresh(process: Option<ToolProcess<'_>>) -> Result<(), StoreError> {
    match process {
        Some(ToolProcess { toolcrib, .. }) => toolcrib.refresh_switches().await.map(drop),
        None => Ok(()),
    }
}

/// Waits for the calls of this process, and until daemons of other machines have read the row.
async fn wait_until_stopped(
    process: ToolProcess<'_>,
    running: Vec<RunningCall>,
    stop_running: bool,
) -> Vec<StoppedCall> {
    // After this, no daemon of another machine starts a call on switches that it read before the
    // row was written. This process has read the row, and other processes of this machine check the
    // file.
    let others_know = if process.store_is_shared { SWITCH_CACHE_TTL } else { Duration::ZERO };
    let stopping = wait_for_calls(process.toolcrib, running, stop_running);
    tokio::join!(stopping, tokio::time::sleep(others_know)).0
}

async fn wait_for_calls(
    toolcrib: &Toolcrib,
    running: Vec<RunningCall>,
    stop_running: bool,
) -> Vec<StoppedCall> {
    let limit = if stop_running { STOP_TIMEOUT } else { Duration::ZERO };
    let calls = stopped_calls::wait(toolcrib, running, limit).await;
    if stop_running {
        // Programs that remain afterwards have been killed but not reaped.
        let _ = toolcrib_sandbox::wait_for_dropped(STOP_TIMEOUT).await;
    }
    calls
}
