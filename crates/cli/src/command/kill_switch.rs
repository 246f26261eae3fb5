//! `toolcrib stop-tools|start-tools`: the kill switch, as a file that stops every process at once,
//! and as a row in the store, which other machines read.

use std::sync::Arc;

use serde_json::json;
use toolcrib_app::KillSwitchFile;
use toolcrib_core::{SwitchState, SwitchStore};
use toolcrib_ops::OpError;
use toolcrib_ops::calls::serialized_name;
use toolcrib_ops::kill_switch::{
    self, EngageReply, EngageRequest, KillSwitchContext, KillSwitchStatus, ReleaseRequest, StopBody,
};

use crate::clap_args::StopTools;
use crate::daemon::client::{ApiRequest, Client};
use crate::output::{self, Failure};
use crate::{bootstrap, os_user};

const PATH: &str = "/api/v1/kill-switch";

/// Warns that every tool is stopped, by whom and why, in commands whose output would otherwise look
/// normal.
pub(super) fn warn_if_engaged(json: bool) -> Result<(), Failure> {
    let file = KillSwitchFile::in_folder(&bootstrap::state_folder()?);
    if let Some(state) = file.read() {
        output::warn(&state.sentence(), json);
    }
    Ok(())
}

/// Stops every tool: first locally, which needs only the file, and then in the daemon.
pub(crate) fn stop_tools(command: &StopTools, json: bool) -> Result<u8, Failure> {
    let file = KillSwitchFile::in_folder(&bootstrap::state_folder()?);
    let request = EngageRequest {
        reason: command.reason.clone().unwrap_or_default(),
        finish_running: command.finish_running,
    };
    let reply = bootstrap::block_on(async {
        let actor = os_user::current_user();
        let ctx = local_context(&file, &actor, &open_store);
        let engaged = kill_switch::engage(&ctx, request.clone()).await;
        engaged.map_err(|error| match bootstrap::stores() {
            // The exit code of the failure describes the state of the store.
            Err(failure) => Failure { message: error.to_string(), ..failure },
            Ok(_) => error.into(),
        })
    })?;
    if let Some(error) = reply.file_error {
        let path = file.path.display();
        return Err(Failure::run(format!(
            "{path} cannot be written ({error}): running processes notice the change only when they read the switches again"
        )));
    }
    // The daemon has already read the file and cancels its running calls.
    bootstrap::block_on(async { Ok(engage_in_daemon(request, json).await) })?;
    print_state(SwitchState::Off, true, json)?;
    if !json {
        output::eprint_line("toolcrib: `toolcrib start-tools` allows them again");
    }
    Ok(0)
}

fn open_store() -> Result<Arc<dyn SwitchStore>, OpError> {
    match bootstrap::stores() {
        Ok(stores) => Ok(stores.switches),
        Err(failure) => Err(OpError::Unavailable(failure.message)),
    }
}

/// Returns the context of a command, which runs no tools itself.
fn local_context<'a>(
    file: &'a KillSwitchFile,
    actor: &'a str,
    open_store: &'a (dyn Fn() -> Result<Arc<dyn SwitchStore>, OpError> + Sync),
) -> KillSwitchContext<'a> {
    KillSwitchContext { file, open_store, actor, process: None }
}

/// Engages the kill switch in the daemon of this user, if one runs, and prints the outcomes of its
/// running calls.
async fn engage_in_daemon(request: EngageRequest, json: bool) -> Option<()> {
    let client = Client::connect_own().await.ok()??;
    let body = StopBody::from(request);
    let reply: EngageReply = client.call(&ApiRequest::put(PATH, &body)).await.ok()?;
    for call in reply.calls {
        let status = serialized_name(&call.status).unwrap_or_default();
        let what = format!("{} ({}) was running: {status}", call.tool, call.call);
        output::warn(&what, json);
    }
    Some(())
}

/// Releases the kill switch in the daemon of this user, if one runs.
async fn release_in_daemon() -> Option<()> {
    let client = Client::connect_own().await.ok()??;
    client.call::<KillSwitchStatus>(&ApiRequest::delete(PATH)).await.ok().map(drop)
}

/// Releases the kill switch.
pub(crate) fn start_tools(json: bool) -> Result<u8, Failure> {
    release_kill_switch(Some(SwitchState::On), json)
}

/// Releases the kill switch, with this state or none in the store.
pub(super) fn release_kill_switch(state: Option<SwitchState>, json: bool) -> Result<u8, Failure> {
    let file = KillSwitchFile::in_folder(&bootstrap::state_folder()?);
    let store = bootstrap::stores()?.switches;
    let released = bootstrap::block_on(async {
        let (actor, open_store) = (os_user::current_user(), || Ok(Arc::clone(&store)));
        let request = ReleaseRequest { keep_row: state.is_some() };
        let ctx = local_context(&file, &actor, &open_store);
        let released = kill_switch::release(&ctx, request).await?;
        // Wait until the daemon has applied it.
        release_in_daemon().await;
        Ok(released)
    })?;
    match state {
        Some(state) => print_state(state, true, json)?,
        None => {
            let changed = released.changed;
            let words = if changed { "reset to its default" } else { "already at its default" };
            if json {
                let document =
                    json!({"switch": "tools", "enabled": null, "state": null, "changed": changed});
                output::print_json(&document, true)?;
            } else {
                output::eprint_line(&format!("toolcrib: the switch of every tool is {words}"));
            }
        }
    }
    Ok(0)
}

fn print_state(state: SwitchState, changed: bool, json: bool) -> Result<(), Failure> {
    if json {
        let enabled = state.is_on();
        let document =
            json!({"switch": "tools", "enabled": enabled, "state": state, "changed": changed});
        return Ok(output::print_json(&document, true)?);
    }
    let since = match state {
        SwitchState::Off => "in every process, including running ones",
        _ => "in every process that starts from now on",
    };
    output::eprint_line(&format!("toolcrib: every tool is {state} {since}"));
    Ok(())
}
