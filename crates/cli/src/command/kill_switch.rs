//! `toolcrib stop-tools|start-tools`: the kill switch, as a file that stops every process at once,
//! and in the store, which other machines read.

use serde_json::json;
use toolcrib_app::core::{Clock as _, Switch, SwitchState, SystemClock};
use toolcrib_app::{KillSwitchFile, KillSwitchState, SwitchTarget};

use super::remote;
use crate::clap_args::StopTools;
use crate::output::{self, Failure};
use crate::{bootstrap, os_user};

/// Says that every tool is stopped, by whom and why, where a list would look as if all were well.
pub(super) fn warn_if_engaged(json: bool) -> Result<(), Failure> {
    let file = KillSwitchFile::in_folder(&bootstrap::state_folder()?);
    if let Some(state) = file.read() {
        output::warn(&state.sentence(), json);
    }
    Ok(())
}

/// Stops every tool. The file comes first: it needs nothing that could be broken.
pub(crate) fn stop_tools(command: &StopTools, json: bool) -> Result<u8, Failure> {
    let file = KillSwitchFile::in_folder(&bootstrap::state_folder()?);
    let stop = KillSwitchState {
        why: command.reason.clone().unwrap_or_default(),
        finish_running: command.finish_running,
        ..KillSwitchState::from(os_user::current_user().as_str())
    };
    let engaged = file.engage(stop);
    let stored = store_switch(Some(SwitchState::Off));
    let path = file.path.display();
    match (engaged, stored) {
        (Ok(()), Ok(_)) => {}
        (Ok(()), Err(failure)) => {
            let what = "every tool is off on this machine, but the switch could not be stored";
            return Err(Failure { message: format!("{what}: {}", failure.message), ..failure });
        }
        (Err(error), stored) => {
            let how = if stored.is_ok() {
                "only processes that start from now on, or read switches again, know of it"
            } else {
                "nothing is stopped"
            };
            return Err(Failure::run(format!("{path} cannot be written ({error}): {how}")));
        }
    }
    // It has felt the file already, and stops what is at work.
    bootstrap::block_on(async { Ok(remote::engage_kill_switch(command, json).await) })?;
    print_state(SwitchState::Off, true, json)?;
    if !json {
        output::eprint_line("toolcrib: `toolcrib start-tools` lets them run again");
    }
    Ok(0)
}

/// Lets tools run again: the store comes first, so that nothing is half open when it cannot be
/// written.
pub(crate) fn start_tools(json: bool) -> Result<u8, Failure> {
    release_kill_switch(Some(SwitchState::On), json)
}

/// The same, with this setting or none in the store.
pub(super) fn release_kill_switch(state: Option<SwitchState>, json: bool) -> Result<u8, Failure> {
    let file = KillSwitchFile::in_folder(&bootstrap::state_folder()?);
    let changed = store_switch(state)?;
    let was_there = file.release().map_err(|error| {
        let path = file.path.display();
        Failure::run(format!("tools stay off: {path} cannot be removed ({error})"))
    })?;
    // In force in the daemon when this ends, and not a moment later.
    bootstrap::block_on(async { Ok(remote::release_kill_switch().await) })?;
    match state {
        Some(state) => print_state(state, true, json)?,
        None => {
            let changed = changed || was_there;
            let words = if changed { "back to its default" } else { "at its default already" };
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
        SwitchState::Off => "for every process, those at work included",
        _ => "for every process that starts from now on",
    };
    output::eprint_line(&format!("toolcrib: every tool is {state} {since}"));
    Ok(())
}

/// Sets the switch in the store, or takes it back; whether it was there to be taken back.
fn store_switch(state: Option<SwitchState>) -> Result<bool, Failure> {
    let name = SwitchTarget::Everything.name();
    let (by, at) = (os_user::current_user(), SystemClock.now_ms());
    bootstrap::block_on(async {
        let switches = bootstrap::stores()?.switches;
        let stored = match state {
            Some(state) => {
                let switch = Switch { owner: String::new(), name, state, by, at };
                switches.set_switch(switch).await.map(|()| true)
            }
            None => switches.unset_switch("", &name, &by, at).await,
        };
        stored.map_err(|error| Failure::run(error.to_string()))
    })
}
