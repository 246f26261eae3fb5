//! The kill switch: no tool runs, on any daemon, until it is released. It is a file, which stops
//! every process of this machine at once, and a row, which the daemons of other machines read.

use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::core::{Clock as _, Switch, SwitchState, SystemClock};
use toolcrib_app::{KillSwitchState, RunningCall, SWITCH_CACHE_TTL, SwitchTarget};
use toolcrib_ops::calls::CallState;

use super::switches::OWNER;
use crate::api::{Api, Json, Operation};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Time that calls have to end once they were told to; what takes longer is said to be running
/// still.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// Time between two looks whether they have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Why and how tools are stopped.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct StopBody {
    /// Why, in words for people.
    #[schemars(length(max = 1000))]
    reason: String,
    /// Whether calls that are at work are stopped too; `false` = they run to their end.
    stop_running: Option<bool>,
}

/// How the kill switch stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct KillSwitchDocument {
    /// Whether it is pulled: no tool runs.
    engaged: bool,
    /// Whether its file is there: no process of this machine runs a tool.
    file: bool,
    /// Whether its row is set: no daemon on this database runs a tool.
    row: bool,
    /// Who pulled it.
    by: Option<String>,
    /// When, in milliseconds since 1970.
    at: Option<i64>,
    /// Why.
    reason: Option<String>,
}

/// How the kill switch stands, and what became of the calls that were at work.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Stopped {
    /// How it stands now.
    #[serde(flatten)]
    switch: KillSwitchDocument,
    /// Calls that were at work on this daemon.
    calls: Vec<StoppedCall>,
}

/// A call that was at work when the kill switch was pulled.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct StoppedCall {
    /// Its id.
    call: String,
    /// The tool.
    tool: String,
    /// Its run.
    run: Option<String>,
    /// What it may do, such as `side_effect`: what was cut off may have taken effect.
    effect: String,
    /// When it started, in milliseconds since 1970.
    started_at: i64,
    /// What became of it; `running` = it runs still.
    status: CallState,
}

pub(super) fn routes(api: &mut Api) {
    let show = Operation::get("/kill-switch", Role::Viewer, "Shows whether tools are stopped.");
    api.add(show.returns_ok::<KillSwitchDocument>("How it stands."), show_switch);
    let pull = Operation::put("/kill-switch", Role::Operator, "Stops every tool, on every daemon.");
    let pull = pull.description("After the answer no call starts. The kill switch stays on until a person releases it, also across restarts; no model can reach this route.");
    api.add(pull.body::<StopBody>().returns_ok::<Stopped>("No tool runs."), engage);
    let operation = Operation::delete("/kill-switch", Role::Operator, "Lets tools run again.");
    api.add(
        operation.returns_ok::<KillSwitchDocument>("They run, each as its own switches say."),
        release,
    );
}

async fn document(daemon: &DaemonState) -> Result<KillSwitchDocument, Problem> {
    let stop = daemon.toolcrib().kill_switch().read();
    let rows = daemon.stores().switches.switches(OWNER).await?;
    let everything = SwitchTarget::Everything.name();
    let row = rows.into_iter().find(|row| row.name == everything && row.state == SwitchState::Off);
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let by_row = row.as_ref().map(|row| (row.by.clone(), row.at));
    Ok(KillSwitchDocument {
        engaged: !daemon.toolcrib().engine().tools_enabled() || stop.is_some() || row.is_some(),
        file: stop.is_some(),
        row: row.is_some(),
        by: stop
            .as_ref()
            .and_then(|stop| some(stop.by.clone()))
            .or(by_row.clone().map(|row| row.0)),
        at: stop.as_ref().map(|stop| stop.at).filter(|at| *at > 0).or(by_row.map(|row| row.1)),
        reason: stop.and_then(|stop| some(stop.why)),
    })
}

async fn show_switch(
    State(daemon): State<DaemonState>,
) -> Result<Json<KillSwitchDocument>, Problem> {
    Ok(Json(document(&daemon).await?))
}

async fn engage(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<StopBody>,
) -> Result<Response, Problem> {
    Ok(Json(pull(&daemon, &principal, body).await?).into_response())
}

async fn pull(
    daemon: &DaemonState,
    principal: &Principal,
    body: StopBody,
) -> Result<Stopped, Problem> {
    let (toolcrib, now) = (daemon.toolcrib(), SystemClock.now_ms());
    let stop_running = body.stop_running.unwrap_or(true);
    let why: String = toolcrib.engine().sealing().secrets.mask(body.reason);
    let stop = KillSwitchState {
        by: principal.name.clone(),
        at: now,
        why: why.chars().take(1000).collect(),
        finish_running: !stop_running,
    };
    let switch = Switch {
        owner: OWNER.to_owned(),
        name: SwitchTarget::Everything.name(),
        state: SwitchState::Off,
        by: principal.name.clone(),
        at: now,
    };
    // Looked up before and after: the watcher of the file may stop calls before the next line runs.
    let mut running = toolcrib.engine().running_calls();
    // The file comes first: it needs nothing that could be broken, and holds at once.
    let file = toolcrib.kill_switch().engage(stop);
    running.extend(toolcrib.engine().running_calls());
    running.sort_by_key(|call| (call.started_at_ms, call.call));
    running.dedup_by_key(|call| call.call);
    // It waits for nothing, not for the store either.
    if stop_running {
        let _ = toolcrib.stop_calls();
    }
    let row = daemon.stores().switches.set_switch(switch).await;
    let refreshed = toolcrib.refresh_switches().await;
    if stop_running {
        let _ = toolcrib.stop_calls();
    }
    match (file, row) {
        (Ok(()), Ok(())) => {}
        (Ok(()), Err(error)) => {
            tracing::error!(%error, "the kill switch could not be stored");
            let words = "every tool of this machine is stopped, but the switch could not be stored: daemons of other machines go on";
            return Err(Problem::new(Code::Unavailable, words));
        }
        (Err(error), Ok(())) => {
            tracing::error!(%error, "the file of the kill switch could not be written");
        }
        (Err(error), Err(_)) => {
            tracing::error!(%error, "the kill switch could not be pulled");
            return Err(Problem::new(
                Code::Unavailable,
                "neither its file nor its row could be written: tools run on",
            ));
        }
    }
    refreshed?;
    // After this, no daemon of another machine starts a call on switches that it read before the
    // row was written. This daemon has read the row, and other processes of this machine look at
    // the file.
    let others_know =
        if daemon.settings().store_is_shared { SWITCH_CACHE_TTL } else { Duration::ZERO };
    let stopping = async {
        let limit = if stop_running { STOP_TIMEOUT } else { Duration::ZERO };
        let calls = wait_for_calls(daemon, running, limit).await;
        if stop_running && !toolcrib_app::sandbox::wait_for_dropped(STOP_TIMEOUT).await {
            tracing::error!("programs of stopped tools have been killed, but have not ended yet");
        }
        calls
    };
    let (calls, ()) = tokio::join!(stopping, tokio::time::sleep(others_know));
    let switch = document(daemon).await?;
    daemon.run_supervisor().publish_switch(&switch);
    Ok(Stopped { switch, calls })
}

/// What becomes of these calls within this time.
async fn wait_for_calls(
    daemon: &DaemonState,
    running: Vec<RunningCall>,
    limit: Duration,
) -> Vec<StoppedCall> {
    let until = tokio::time::Instant::now() + limit;
    join_all(running.into_iter().map(|call| wait_for_call(daemon, call, until))).await
}

async fn wait_for_call(
    daemon: &DaemonState,
    call: RunningCall,
    until: tokio::time::Instant,
) -> StoppedCall {
    let mut status = status_of(daemon, &call).await;
    while status == CallState::Running && tokio::time::Instant::now() < until {
        tokio::time::sleep(POLL_INTERVAL).await;
        status = status_of(daemon, &call).await;
    }
    StoppedCall {
        call: call.call.to_string(),
        tool: call.tool.to_string(),
        run: call.run.map(|run| run.to_string()),
        effect: toolcrib_ops::calls::serialized_name(&call.effect).unwrap_or_default(),
        started_at: call.started_at_ms,
        status,
    }
}

async fn status_of(daemon: &DaemonState, call: &RunningCall) -> CallState {
    match daemon.stores().calls.call(call.call).await {
        Ok(Some(stored)) => {
            stored.row.end.map_or(CallState::Running, |end| CallState::from(end.outcome))
        }
        // It was running and has no recorded outcome: the outcome is unknown.
        Ok(None) | Err(_) => CallState::Unknown,
    }
}

async fn release(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<KillSwitchDocument>, Problem> {
    let (name, now) = (SwitchTarget::Everything.name(), SystemClock.now_ms());
    // The store first, so that nothing is half open when it cannot be written.
    daemon.stores().switches.unset_switch(OWNER, &name, &principal.name, now).await?;
    daemon.toolcrib().kill_switch().release().map_err(|error| {
        tracing::error!(%error, "the file of the kill switch could not be removed");
        Problem::new(
            Code::Unavailable,
            "the file STOP in the state folder cannot be removed: tools stay stopped",
        )
    })?;
    daemon.toolcrib().refresh_switches().await?;
    let switch = document(&daemon).await?;
    daemon.run_supervisor().publish_switch(&switch);
    Ok(Json(switch))
}
