//! Tools: which there are, how they stand, what they need, and trying them.

mod config;
mod list;
mod show;
mod test_tool;
mod why;

use toolcrib_ops::tools::{ConfigChanged, ToolDocument, ToolNumbers, ToolRow, WhyReply};

use self::config::ConfigBody;
use self::list::ListQuery;
use self::show::MetricsQuery;
use self::test_tool::{TestBody, Tested};
use self::why::WhyQuery;
use crate::api::{Api, Operation, Page};
use crate::role::Role;

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/tools", Role::Viewer, "Lists the tools.");
    let list =
        list.description("Whether switched on or not. `PUT /switches/tool:NAME` switches one.");
    api.add(
        list.query::<ListQuery>()
            .returns_ok::<Page<ToolRow>>("All of them, in the order of the offering.")
            .etagged(),
        list::list,
    );
    let show = Operation::get("/tools/{name}", Role::Viewer, "Shows a tool.");
    api.add(
        show.returns_ok::<ToolDocument>("Its definition, how it stands, and its configuration.")
            .etagged(),
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
            .returns_ok::<ToolNumbers>("Counts and times; all 0 when it was not called."),
        show::metrics,
    );
    let why = Operation::get(
        "/tools/{name}/why",
        Role::Viewer,
        "Says whether a tool is offered to a caller, and what keeps it away.",
    );
    api.add(why.query::<WhyQuery>().returns_ok::<WhyReply>("Offered, or the reason."), why::why);
    let test = Operation::post("/tools/{name}/test", Role::Caller, "Tries a tool.")
        .queues_calls()
        .description("Without arguments it only looks whether the configuration is complete. With arguments the tool runs, through the pipeline like every call; with `dry_run` nothing runs, and what policy would say is told.")
        .body::<TestBody>()
        .returns_ok::<Tested>("What was found.");
    api.add(test, test_tool::test);
    let set = Operation::put("/tools/{name}/config/{key}", Role::Operator, "Sets a value that a tool needs.")
        .description("A secret is kept in the vault, for which the role owner is needed; it is never shown again. Writing `***` back keeps what is there.")
        .body::<ConfigBody>()
        .returns_ok::<ConfigChanged>("It is in force.");
    api.add(set, config::set);
    let unset =
        Operation::delete("/tools/{name}/config/{key}", Role::Operator, "Takes a value away.");
    api.add(unset.returns_ok::<ConfigChanged>("It is gone, or was not there."), config::unset);
}
