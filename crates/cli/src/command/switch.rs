//! `toolcrib tool enable|ask|disable|reset`: switches, which every process reads when it starts.

use serde_json::json;
use toolcrib_app::core::{Clock as _, ErrorType, Switch as Row, SwitchState, SystemClock};
use toolcrib_app::{Switched, Toolcrib};

use super::tool::unknown_tool;
use super::{stop, through};
use crate::cli::{StopTools, Switch};
use crate::output::{self, Failure};
use crate::{person, world};

/// Sets a switch, or with `None` takes its setting back.
pub(crate) fn set(command: &Switch, state: Option<SwitchState>, json: bool) -> Result<u8, Failure> {
    let switched = command.what.switched();
    if let Some(state) = state.filter(|state| !switched.can_be(*state)) {
        let what = switched.name();
        return Err(Failure::usage(format!(
            "only a tool or a group can be \"{state}\"; {what} is on or off"
        )));
    }
    match (&switched, state) {
        (Switched::Everything, Some(SwitchState::Off)) => {
            stop::stop(&StopTools { reason: None, finish_running: false }, json)
        }
        (Switched::Everything, state) => stop::release(state, json),
        _ => set_one(command, state, json),
    }
}

fn set_one(command: &Switch, state: Option<SwitchState>, json: bool) -> Result<u8, Failure> {
    world::block_on(async {
        let toolcrib = world::with_stores(&command.world).await?;
        let switched = canonical(&toolcrib, command.what.switched())?;
        if let (Some(state), Switched::Tool(name)) = (state, &switched) {
            // What is off for good is not switched on in the store either.
            toolcrib.catalog().set_tool_state(name, state)?;
        }
        let row = Row {
            owner: String::new(),
            name: switched.name(),
            state: state.unwrap_or(SwitchState::Off),
            by: person::name(),
            at: SystemClock.now_ms(),
        };
        let name = row.name.clone();
        let switches = &toolcrib.stores().switches;
        let failed = |error: toolcrib_app::core::StoreError| Failure::run(error.to_string());
        let by_daemon = through::switch(&name, state).await?;
        let changed = match (by_daemon, state) {
            (Some(changed), _) => Ok(changed),
            (None, Some(_)) => switches.set_switch(row).await.map(|()| true),
            (None, None) => switches.unset_switch(&row.owner, &row.name, &row.by, row.at).await,
        };
        let changed = changed.map_err(failed)?;
        if json {
            output::document(
                &json!({
                    "switch": name,
                    "enabled": state.map(SwitchState::is_on),
                    "state": state,
                    "changed": changed,
                }),
                true,
            )?;
        } else {
            let now = match state {
                Some(SwitchState::On) => "on",
                Some(SwitchState::Ask) => "on, and every call is asked about,",
                Some(SwitchState::Off) => "off",
                None if changed => "back to its default",
                None => "at its default already",
            };
            // Those that work already keep what they read; a daemon reads it at once.
            let since = match (changed, by_daemon) {
                (true, Some(_)) => " in the daemon, and for every process that starts from now on",
                (true, None) => " for every process that starts from now on",
                (false, _) => "",
            };
            output::note(&format!("toolcrib: {name} is {now}{since}"));
        }
        Ok(0)
    })
}

/// A tool under its canonical name; one with a master switch has none of its own.
fn canonical(toolcrib: &Toolcrib, switched: Switched) -> Result<Switched, Failure> {
    match switched {
        Switched::Tool(name) => {
            let spec = toolcrib.spec(&name).ok_or_else(|| unknown_tool(toolcrib, &name))?;
            if let Some(master) = &spec.controlled_by {
                return Err(Failure {
                    code: ErrorType::ToolDisabled.exit_code(),
                    message: format!(
                        "{} has no switch of its own; use --feature {master}",
                        spec.name
                    ),
                });
            }
            Ok(Switched::Tool(spec.name.to_string()))
        }
        Switched::Source(id) => {
            known(toolcrib, "source", id, |info| Some(info.source.clone())).map(Switched::Source)
        }
        Switched::Group(name) => {
            known(toolcrib, "group", name, |info| info.group.clone()).map(Switched::Group)
        }
        Switched::Feature(name) => {
            known(toolcrib, "feature", name, |info| info.controlled_by.clone())
                .map(Switched::Feature)
        }
        switched => Ok(switched),
    }
}

/// A name that some tool has.
fn known(
    toolcrib: &Toolcrib,
    what: &str,
    name: String,
    of: impl Fn(&toolcrib_app::core::ToolInfo) -> Option<String>,
) -> Result<String, Failure> {
    let mut names: Vec<String> = toolcrib.infos().iter().filter_map(of).collect();
    names.sort();
    names.dedup();
    if names.contains(&name) {
        return Ok(name);
    }
    let known = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
    Err(Failure::not_found(format!("there is no {what} {name}; known: {known}")))
}
