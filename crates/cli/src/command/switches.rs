//! `toolcrib tool enable|ask|disable|reset`: switches, which every process reads when it starts.

use serde_json::json;
use toolcrib_app::{SwitchTarget, Toolcrib};
use toolcrib_core::SwitchState;
use toolcrib_ops::switches::{
    self, ResetSwitchRequest, SetSwitchBody, SetSwitchRequest, SwitchRow,
};

use super::kill_switch;
use crate::clap_args::{StopTools, SwitchArgs, WorkspaceArgs};
use crate::daemon::client::{ApiRequest, Client, percent_encode};
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, op_context};

/// Sets a switch, or with `None` resets it.
pub(crate) fn set_switch(
    command: &SwitchArgs,
    state: Option<SwitchState>,
    json: bool,
) -> Result<u8, Failure> {
    let switched = command.selection.selected();
    if let Some(state) = state.filter(|state| !switched.allows_state(*state)) {
        let what = switched.name();
        return Err(Failure::usage(format!(
            "only a tool or a group can be \"{state}\"; {what} is on or off"
        )));
    }
    match (&switched, state) {
        (SwitchTarget::Everything, Some(SwitchState::Off)) => {
            kill_switch::stop_tools(&StopTools { reason: None, finish_running: false }, json)
        }
        (SwitchTarget::Everything, state) => kill_switch::release_kill_switch(state, json),
        _ => set_target(&command.workspace_args, switched, state, json),
    }
}

/// A switch that was set or reset.
pub(crate) struct SwitchChange {
    /// The switch; a tool by its canonical name.
    pub(crate) target: SwitchTarget,
    /// The switch as it is now; `None` = nothing has it any more, so nothing was changed.
    row: Option<SwitchRow>,
    /// Whether it was changed.
    changed: bool,
    /// Whether a running daemon changed it.
    by_daemon: bool,
}

/// Sets one switch through the daemon, or in the stores if none runs; with `None`, resets it.
pub(crate) async fn change_switch(
    toolcrib: &Toolcrib,
    target: SwitchTarget,
    state: Option<SwitchState>,
) -> Result<SwitchChange, Failure> {
    let ctx = op_context::for_toolcrib(toolcrib, None);
    let target = switches::canonical_target(&ctx, target)?;
    if let (Some(state), SwitchTarget::Tool(tool)) = (state, &target) {
        // A permanently disabled tool is refused before a daemon is contacted.
        toolcrib.catalog().set_tool_state(tool, state)?;
    }
    let by_daemon = change_in_daemon(&target.name(), state).await?;
    let is_by_daemon = by_daemon.is_some();
    let (row, changed) = match (by_daemon, state) {
        (Some(row), _) => {
            let changed = row.is_some();
            (row, changed)
        }
        (None, Some(state)) => {
            let request = SetSwitchRequest { target: target.clone(), state };
            (Some(switches::set(&ctx, request).await?), true)
        }
        (None, None) => {
            let request = ResetSwitchRequest { target: target.clone() };
            let reset = switches::reset(&ctx, request).await?;
            (Some(reset.switch), reset.changed)
        }
    };
    Ok(SwitchChange { target, row, changed, by_daemon: is_by_daemon })
}

/// Sets a switch in the daemon of this user, or takes its setting back; returns the switch, or
/// `None` in it where nothing has this switch any more. `None` if no daemon runs. The daemon's
/// calls obey it when this returns.
async fn change_in_daemon(
    name: &str,
    state: Option<SwitchState>,
) -> Result<Option<Option<SwitchRow>>, Failure> {
    let Ok(Some(client)) = Client::connect_own().await else { return Ok(None) };
    let path = format!("/api/v1/switches/{}", percent_encode(name));
    let body = state.map(|state| SetSwitchBody { state });
    let request = match &body {
        Some(body) => ApiRequest::put(&path, body),
        None => ApiRequest::delete(&path),
    };
    let reply = client.send(&request).await?;
    if state.is_none() && reply.status == 404 {
        return Ok(Some(None));
    }
    reply.into_reply::<SwitchRow>().map(|row| Some(Some(row)))
}

/// Sets one switch, or with `None` resets it, and prints the resulting state.
pub(super) fn set_target(
    world: &WorkspaceArgs,
    target: SwitchTarget,
    state: Option<SwitchState>,
    json: bool,
) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let toolcrib = bootstrap::build_with_stores(world).await?;
        let SwitchChange { target, row, changed, by_daemon } =
            change_switch(&toolcrib, target, state).await?;
        let name = target.name();
        if json {
            let own = json!({
                "switch": name,
                "enabled": state.map(SwitchState::is_on),
                "state": state,
                "changed": changed,
            });
            let document = row.map_or(own.clone(), |row| json_document::with_members(&row, own));
            output::print_json(&document, true)?;
        } else {
            let now = match state {
                Some(SwitchState::On) => "on",
                Some(SwitchState::Ask) => "on, and every call requires approval,",
                Some(SwitchState::Off) => "off",
                None if changed => "reset to its default",
                None => "already at its default",
            };
            // Other running processes keep the switches that they have read; the daemon reads them
            // again at once.
            let since = match (changed, by_daemon) {
                (true, true) => " in the daemon, and in every process that starts from now on",
                (true, false) => " in every process that starts from now on",
                (false, _) => "",
            };
            output::eprint_line(&format!("toolcrib: {name} is {now}{since}"));
        }
        Ok(0)
    })
}
