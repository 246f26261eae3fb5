//! Rules: those of all layers, the person's own file that is changed here, and what they say of a call.

mod body;
mod explain;
mod lint;
mod own;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use crate::api::{Api, Operation, Page, etagged};
use crate::daemon::Daemon;
use crate::role::Role;

use body::{RuleBody, RuleRow, numbered};
use explain::{ExplainBody, Explained, explain_call};
use lint::{FindingRow, LintBody, lint_rules};
use own::{RulesChanged, add_rules, list_own, remove_rule};

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/rules", Role::Viewer, "Lists the rules in force, of all layers.");
    let list = list.about("Strictest wins: deny before ask before allow, whatever the layer.");
    api.add(list.ok::<Page<RuleRow>>("In the order of their files.").etagged(), list_rules);
    let own = Operation::get(
        "/rules/own",
        Role::Viewer,
        "Lists the rules of the person's own file, which is the one that is changed here.",
    );
    api.add(
        own.ok::<Page<RuleRow>>("In their order, with the `ETag` of the file.").etagged(),
        list_own,
    );
    let add = Operation::post("/rules/own", Role::Operator, "Adds rules to the person's own file.")
        .about("They are checked first, with their examples; comments and order of the file stay. From the answer on every new call is judged by them.")
        .header("If-Match", "The `ETag` of the file as it was read; without one the rules are added to whatever is there.")
        .body::<Vec<RuleBody>>();
    api.add(add.ok::<RulesChanged>("They are in force."), add_rules);
    let remove = Operation::delete(
        "/rules/own/{number}",
        Role::Operator,
        "Removes a rule from the person's own file, by its number in that file.",
    );
    let remove =
        remove.header("If-Match", "The `ETag` of the file as it was read. Required: numbers move.");
    api.add(remove.ok::<RulesChanged>("It holds no longer."), remove_rule);
    let explain = Operation::post(
        "/rules/explain",
        Role::Viewer,
        "Says what would become of a call, and which rule decides. Nothing runs and nobody is asked.",
    );
    api.add(explain.body::<ExplainBody>().ok::<Explained>("What policy says."), explain_call);
    let lint = Operation::post("/rules/lint", Role::Viewer, "Says what is wrong with rules.");
    api.add(lint.body::<LintBody>().ok::<Page<FindingRow>>("Errors and warnings."), lint_rules);
}

async fn list_rules(State(daemon): State<Daemon>, headers: HeaderMap) -> Response {
    etagged(&headers, &Page::whole(numbered(daemon.toolcrib().rules().written())))
}
