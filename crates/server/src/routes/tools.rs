//! Tools: listing them with their status, configuring them, and testing them.

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
        list.description("Enabled or not. `PUT /switches/tool:NAME` sets the switch of a tool.");
    api.add(
        list.query::<ListQuery>()
            .returns_ok::<Page<ToolRow>>("All tools, in the order in which models get them.")
            .etagged(),
        list::list,
    );
    let show = Operation::get("/tools/{name}", Role::Viewer, "Shows a tool.");
    api.add(
        show.returns_ok::<ToolDocument>("Its definition, status and configuration.").etagged(),
        show::show,
    );
    let metrics =
        Operation::get("/tools/{name}/metrics", Role::Viewer, "Shows the metrics of a tool.");
    api.add(
        metrics
            .query::<MetricsQuery>()
            .returns_ok::<ToolNumbers>("Counts and times; all 0 if the tool was not called."),
        show::metrics,
    );
    let why = Operation::get(
        "/tools/{name}/why",
        Role::Viewer,
        "Tells whether a caller gets a tool, and otherwise why not.",
    );
    api.add(
        why.query::<WhyQuery>()
            .returns_ok::<WhyReply>("Whether the caller gets the tool, or the reason."),
        why::why,
    );
    let test = Operation::post("/tools/{name}/test", Role::Caller, "Tries a tool.")
        .queues_calls()
        .description("Without arguments the daemon only checks whether the configuration is complete. With arguments the tool runs through the pipeline like every call; with `dry_run` nothing runs, and the response has the ruling.")
        .body::<TestBody>()
        .returns_ok::<Tested>("The findings.");
    api.add(test, test_tool::test);
    let set = Operation::put("/tools/{name}/config/{key}", Role::Operator, "Sets a value that a tool needs.")
        .description("A secret is stored in the vault, which needs the role owner; it is never shown again. Writing `***` keeps the stored value.")
        .body::<ConfigBody>()
        .returns_ok::<ConfigChanged>("The value is in force.");
    api.add(set, config::set);
    let unset = Operation::delete("/tools/{name}/config/{key}", Role::Operator, "Removes a value.");
    api.add(
        unset.returns_ok::<ConfigChanged>("The value is removed, or did not exist."),
        config::unset,
    );
}
