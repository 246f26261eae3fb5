//! Tools: which there are, how they stand, what they need, and trying them.

mod config;
mod list;
mod show;
mod test;
mod why;

use toolcrib_app::core::{ToolInfo, near};

use self::config::{ConfigBody, ConfigChanged};
use self::list::{ListQuery, ToolRow};
use self::show::{MetricsQuery, ToolDocument, ToolNumbers};
use self::test::{TestBody, Tested};
use self::why::{Why, WhyQuery};
use crate::api::{Api, Operation, Page};
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::role::Role;

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/tools", Role::Viewer, "Lists the tools.");
    let list = list.about("Whether switched on or not. `PUT /switches/tool:NAME` switches one.");
    api.add(
        list.query::<ListQuery>()
            .ok::<Page<ToolRow>>("All of them, in the order of the offering.")
            .etagged(),
        list::list,
    );
    let show = Operation::get("/tools/{name}", Role::Viewer, "Shows a tool.");
    api.add(
        show.ok::<ToolDocument>("Its definition, how it stands, and its configuration.").etagged(),
        show::show,
    );
    let metrics = Operation::get(
        "/tools/{name}/metrics",
        Role::Viewer,
        "Shows how the calls of a tool went.",
    );
    api.add(
        metrics
            .query::<MetricsQuery>()
            .ok::<ToolNumbers>("Counts and times; all 0 when it was not called."),
        show::metrics,
    );
    let why = Operation::get(
        "/tools/{name}/why",
        Role::Viewer,
        "Says whether a tool is offered to a caller, and what keeps it away.",
    );
    api.add(why.query::<WhyQuery>().ok::<Why>("Offered, or the reason."), why::why);
    let test = Operation::post("/tools/{name}/test", Role::Caller, "Tries a tool.")
        .stands_in_line()
        .about("Without arguments it only looks whether the configuration is complete. With arguments the tool runs, through the door like every call; with `dry_run` nothing runs, and what policy would say is told.")
        .body::<TestBody>()
        .ok::<Tested>("What was found.");
    api.add(test, test::test);
    let set = Operation::put("/tools/{name}/config/{key}", Role::Operator, "Sets a value that a tool needs.")
        .about("A secret is kept in the vault, for which the role owner is needed; it is never shown again. Writing `***` back keeps what is there.")
        .body::<ConfigBody>()
        .ok::<ConfigChanged>("It is in force.");
    api.add(set, config::set);
    let unset =
        Operation::delete("/tools/{name}/config/{key}", Role::Operator, "Takes a value away.");
    api.add(unset.ok::<ConfigChanged>("It is gone, or was not there."), config::unset);
}

/// A tool, under whichever of its names.
fn info(daemon: &Daemon, name: &str) -> Result<ToolInfo, Problem> {
    let spec = daemon.toolcrib().spec(name).ok_or_else(|| no_tool(daemon, name))?;
    let found = daemon.toolcrib().infos().into_iter().find(|info| info.id == spec.name);
    found.ok_or_else(|| no_tool(daemon, name))
}

/// There is no such tool; those that are named nearly so are.
pub(super) fn no_tool(daemon: &Daemon, name: &str) -> Problem {
    let infos = daemon.toolcrib().infos();
    let near = near::nearest(name, infos.iter().map(|info| info.id.as_str()));
    let next = match near.as_slice() {
        [] => "GET /tools lists them".to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    let shown: String = name.chars().take(80).collect();
    Problem::not_found(format!("there is no tool {shown}; {next}"))
}
