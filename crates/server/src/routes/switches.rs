//! Switches: tools, groups, sources, tiers and features off, asked about or on. They are in force for running work at its next step.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_app::Switched;
use toolcrib_app::core::{Clock as _, Switch, SwitchState, SystemClock, Tier, ToolInfo, near};

use super::tools::no_tool;
use crate::api::{Api, Json, Operation, Page, Path, etagged};
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::role::{Principal, Role};

/// Whose switches there are: the only owner's.
pub(super) const OWNER: &str = "";

/// What a switch says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Switching {
    /// It is not there: calls of it end without running.
    Off,
    /// It is there, and a person is asked about every call. Only tools and groups can have this state.
    Ask,
    /// It is there.
    On,
}

impl From<SwitchState> for Switching {
    fn from(state: SwitchState) -> Self {
        match state {
            SwitchState::Off => Self::Off,
            SwitchState::Ask => Self::Ask,
            SwitchState::On => Self::On,
        }
    }
}

impl From<Switching> for SwitchState {
    fn from(state: Switching) -> Self {
        match state {
            Switching::Off => Self::Off,
            Switching::Ask => Self::Ask,
            Switching::On => Self::On,
        }
    }
}

/// Something that can be switched.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SwitchRow {
    /// Its name: `tool:NAME`, `group:NAME`, `source:ID`, `tier:TIER` or `feature:NAME`.
    pub(crate) name: String,
    /// What somebody set it to; absent = nobody has, and its default holds.
    pub(crate) state: Option<Switching>,
    /// Who set it.
    pub(crate) by: Option<String>,
    /// When, in milliseconds since 1970.
    pub(crate) at: Option<i64>,
    /// Tools that it switches now; 0 = what it is about is not there at present.
    pub(crate) tools: usize,
    /// Of these, those that are on, everything above them too.
    pub(crate) on: usize,
}

/// What a switch is set to.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetSwitch {
    /// `off`, `ask` or `on`.
    state: Switching,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/switches", Role::Viewer, "Lists everything that can be switched.");
    let list = list.about("A group, source, tier or feature that is off leaves the switches of its tools alone: when it comes back, each is as it was.");
    api.add(list.ok::<Page<SwitchRow>>("By name.").etagged(), list_switches);
    let set = Operation::put(
        "/switches/{name}",
        Role::Operator,
        "Switches something off, on, or on with every call asked about.",
    );
    let set = set.about("In force for every call from the next step on, in runs at work too, and on other daemons within 100 ms. All tools at once are stopped with `PUT /kill-switch`.");
    api.add(set.body::<SetSwitch>().ok::<SwitchRow>("It is in force."), set_switch);
    let reset = Operation::delete(
        "/switches/{name}",
        Role::Operator,
        "Takes a setting back: the default holds again.",
    );
    api.add(reset.ok::<SwitchRow>("It is in force; also when there was no setting."), reset_switch);
}

/// What there is, with the tools of each.
fn switchable(infos: &[ToolInfo]) -> BTreeMap<String, (usize, usize)> {
    let mut all: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for info in infos {
        let own = info.controlled_by.is_none().then(|| Switched::Tool(info.id.to_string()));
        let switches = own
            .into_iter()
            .chain(info.group.clone().map(Switched::Group))
            .chain(info.controlled_by.clone().map(Switched::Feature))
            .chain([Switched::Source(info.source.clone()), Switched::Tier(info.tier)]);
        for switched in switches {
            let (tools, on) = all.entry(switched.name()).or_default();
            *tools += 1;
            *on += usize::from(info.enabled);
        }
    }
    for tier in Tier::ALL {
        all.entry(Switched::Tier(tier).name()).or_default();
    }
    all
}

fn row(name: &str, (tools, on): (usize, usize), set: Option<&Switch>) -> SwitchRow {
    SwitchRow {
        name: name.to_owned(),
        state: set.map(|switch| switch.state.into()),
        by: set.map(|switch| switch.by.clone()),
        at: set.map(|switch| switch.at),
        tools,
        on,
    }
}

async fn rows(daemon: &Daemon) -> Result<Vec<SwitchRow>, Problem> {
    let mut all = switchable(&daemon.toolcrib().infos());
    let set = daemon.stores().switches.switches(OWNER).await?;
    for switch in set.iter().filter(|switch| switch.name != Switched::Everything.name()) {
        all.entry(switch.name.clone()).or_default();
    }
    let of = |(name, tools): (&String, &(usize, usize))| {
        row(name, *tools, set.iter().find(|switch| &switch.name == name))
    };
    Ok(all.iter().map(of).collect())
}

async fn list_switches(
    State(daemon): State<Daemon>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    Ok(etagged(&headers, &Page::whole(rows(&daemon).await?)))
}

/// What a name is for, with a tool under its canonical name.
fn named(daemon: &Daemon, name: &str) -> Result<Switched, Problem> {
    match Switched::of_name(name) {
        Some(Switched::Everything) => {
            Err(Problem::invalid("all tools at once are stopped and started with /kill-switch"))
        }
        Some(Switched::Tool(tool)) => {
            let spec = daemon.toolcrib().spec(&tool).ok_or_else(|| no_tool(daemon, &tool))?;
            match &spec.controlled_by {
                Some(master) => Err(Problem::conflict(format!(
                    "{} has no switch of its own: switch `feature:{master}`",
                    spec.name
                ))),
                None => Ok(Switched::Tool(spec.name.to_string())),
            }
        }
        Some(switched) => {
            let all = switchable(&daemon.toolcrib().infos());
            if all.contains_key(&switched.name()) {
                return Ok(switched);
            }
            let near = near::nearest(name, all.keys().map(String::as_str));
            Err(unknown(name, &near))
        }
        None => Err(unknown(name, &[])),
    }
}

fn unknown(name: &str, near: &[&str]) -> Problem {
    let next = match near {
        [] => "GET /switches lists them".to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Problem::not_found(format!("there is no switch {name}; {next}"))
}

async fn set_switch(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(name): Path<String>,
    Json(body): Json<SetSwitch>,
) -> Result<Json<SwitchRow>, Problem> {
    let (switched, state) = (named(&daemon, &name)?, SwitchState::from(body.state));
    // What cannot be, such as a tool that is off for good, is not stored either.
    let in_force = daemon.toolcrib().engine().set_switch(&switched, Some(state));
    in_force.map_err(|error| {
        Problem::conflict(error.message).about(json!({"error_type": error.error_type}))
    })?;
    let switch = Switch {
        owner: OWNER.to_owned(),
        name: switched.name(),
        state,
        by: principal.name.clone(),
        at: SystemClock.now_ms(),
    };
    let stored = daemon.stores().switches.set_switch(switch).await;
    changed(&daemon, &switched, stored).await
}

async fn reset_switch(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Json<SwitchRow>, Problem> {
    let set = daemon.stores().switches.switches(OWNER).await?;
    // A setting of something that is gone can be taken back too.
    let switched = match Switched::of_name(&name) {
        Some(switched) if set.iter().any(|switch| switch.name == name) => switched,
        _ => named(&daemon, &name)?,
    };
    if switched == Switched::Everything {
        named(&daemon, &name)?;
    }
    let (name, now) = (switched.name(), SystemClock.now_ms());
    let stored = daemon.stores().switches.unset_switch(OWNER, &name, &principal.name, now).await;
    changed(&daemon, &switched, stored.map(drop)).await
}

/// What is in force is what is stored, whether that could be changed or not.
async fn changed(
    daemon: &Daemon,
    switched: &Switched,
    stored: Result<(), toolcrib_app::core::StoreError>,
) -> Result<Json<SwitchRow>, Problem> {
    let refreshed = daemon.toolcrib().refresh_switches().await;
    stored?;
    refreshed?;
    let name = switched.name();
    let set = daemon.stores().switches.switches(OWNER).await?;
    let tools = switchable(&daemon.toolcrib().infos()).get(&name).copied().unwrap_or_default();
    let row = row(&name, tools, set.iter().find(|switch| switch.name == name));
    daemon.live().switched(&row);
    Ok(Json(row))
}
