//! Rules: the rules of all layers, changes of the user's file, and the decisions of rules about a
//! call.

mod explain;
mod import;
mod lint;
mod replay;
mod suggest;
mod user_rules;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use toolcrib_app::rules::RuleText;
use toolcrib_ops::rules::{
    self, ExplainReply, ImportRulesReply, LintReply, ReplayReply, RuleRow, RuleSuggestion,
    TestReply,
};

use crate::api::{Api, Operation, Page, etag_response};
use crate::role::Role;
use crate::state::DaemonState;

use explain::{ExplainBody, explain_call};
use import::{ImportRulesBody, import_rules};
use lint::{LintBody, lint_rules, test_rules};
use replay::{ReplayBody, replay_rules};
use suggest::suggest_rules;
use user_rules::{UserRulesChanged, add_rules, enforce_rule, list_user_rules, remove_rule};

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/rules", Role::Viewer, "Lists the rules in force, of all layers.");
    let list =
        list.description("The strictest rule wins: deny before ask before allow, in every layer.");
    api.add(list.returns_ok::<Page<RuleRow>>("In the order of their files.").etagged(), list_rules);
    let own = Operation::get(
        "/rules/own",
        Role::Viewer,
        "Lists the rules of the user's own file, which these routes change.",
    );
    api.add(
        own.returns_ok::<Page<RuleRow>>("In their order, with the `ETag` of the file.").etagged(),
        list_user_rules,
    );
    let add = Operation::post("/rules/own", Role::Operator, "Adds rules to the user's own file.")
        .description("The daemon checks the rules with their examples first, and keeps comments and order of the file. After the response every new call is judged by them.")
        .header("If-Match", "The `ETag` of the file; without it, the rules are added to the current version.")
        .body::<Vec<RuleText>>();
    api.add(add.returns_ok::<UserRulesChanged>("They are in force."), add_rules);
    let remove = Operation::delete(
        "/rules/own/{number}",
        Role::Operator,
        "Removes a rule from the user's own file, by its number in that file.",
    );
    let remove = remove.header(
        "If-Match",
        "The `ETag` of the file. Required, because the numbers of rules change.",
    );
    api.add(remove.returns_ok::<UserRulesChanged>("It no longer applies."), remove_rule);
    let enforce = Operation::post(
        "/rules/own/{number}/enforce",
        Role::Operator,
        "Puts an observed rule of the person's own file in force, by its number in that file.",
    );
    let enforce = enforce.header(
        "If-Match",
        "The `ETag` of the file. Required, because the numbers of rules change.",
    );
    api.add(enforce.returns_ok::<UserRulesChanged>("It is in force."), enforce_rule);
    let explain = Operation::post(
        "/rules/explain",
        Role::Viewer,
        "Predicts the decision about a call, and names the rule that decides. Nothing runs and no approver is asked.",
    );
    api.add(
        explain.body::<ExplainBody>().returns_ok::<ExplainReply>("The decision of policy."),
        explain_call,
    );
    let import = Operation::post(
        "/rules/import",
        Role::Operator,
        "Shows what an import of rules of another program would add to the person's own file.",
    );
    api.add(
        import
            .description("Nothing is written: `POST /rules/own` adds the rules.")
            .body::<ImportRulesBody>()
            .returns_ok::<ImportRulesReply>("The rules, and what is left out."),
        import_rules,
    );
    let lint = Operation::post("/rules/lint", Role::Viewer, "Finds problems in rules.");
    api.add(lint.body::<LintBody>().returns_ok::<LintReply>("Errors and warnings."), lint_rules);
    let test = Operation::post("/rules/test", Role::Viewer, "Runs the examples of rules.");
    api.add(
        test.body::<LintBody>().returns_ok::<TestReply>("What failed, and how many there are."),
        test_rules,
    );
    let replay = Operation::post(
        "/rules/replay",
        Role::Operator,
        "Shows which past calls changed rules would have decided differently.",
    );
    api.add(
        replay
            .description("Evaluates the newest 1,000 calls of the caller with the rules in force and with the changed rules. Nothing runs or changes.")
            .body::<ReplayBody>()
            .returns_ok::<ReplayReply>("The calls that the two sets of rules decide differently."),
        replay_rules,
    );
    let suggest = Operation::get(
        "/rules/suggestions",
        Role::Operator,
        "Suggests rules for calls that a person approved at least three times in the last 30 days.",
    );
    api.add(
        suggest
            .description("Each rule allows exactly what was approved; `POST /rules/own` adds one.")
            .returns_ok::<Page<RuleSuggestion>>("The rules, most frequent first."),
        suggest_rules,
    );
}

async fn list_rules(State(daemon): State<DaemonState>, headers: HeaderMap) -> Response {
    etag_response(&headers, &Page::single_page(rules::list(daemon.toolcrib().rules().sources())))
}
