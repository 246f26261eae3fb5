//! Operations on rules.

use serde_json::json;
use toolcrib_app::Preset;
use toolcrib_app::rule_files::RuleFile;
use toolcrib_app::rules::{Layer, RuleSet, RuleSource, RuleText};
use toolcrib_core::{Origin, Risk, SwitchState, Verdict};
use toolcrib_ops::OpError;
use toolcrib_ops::rules::{
    self, AddRulesRequest, AskedCall, ExplainReply, ExplainRequest, LineJudge, NumberedRule,
    ReplayRequest, RuleName, RulesChange,
};

use crate::fixture::Fixture;

fn text(effect: Verdict, rule: &str) -> RuleText {
    let rule = json!({"effect": effect, "rule": rule});
    serde_json::from_value(rule).unwrap()
}

fn sources(rules: &[(Verdict, &str)]) -> Vec<RuleSource> {
    rules::unwritten(rules.iter().map(|(effect, rule)| text(*effect, rule)))
}

fn set(rules: &[(Verdict, &str)]) -> RuleSet {
    RuleSet::compile(sources(rules)).unwrap()
}

async fn explain(fixture: &Fixture, call: &str, rules: RuleSet) -> ExplainReply {
    let request = ExplainRequest {
        call: AskedCall::Text(call.to_owned()),
        agent: String::new(),
        channel: "chat".to_owned(),
        origin: Origin::Rest,
        rules,
        default: None,
    };
    rules::explain(&fixture.ctx(), request).await.unwrap()
}

#[tokio::test]
async fn the_decision_names_the_rule_or_the_part_of_policy() {
    let fixture = Fixture::asking().await;
    let word = |reply: &ExplainReply| (reply.verdict.as_str().to_owned(), reply.by.clone());
    let pair = |verdict: &str, by: &str| (verdict.to_owned(), by.to_owned());
    let none = explain(&fixture, "greet()", RuleSet::default()).await;
    assert_eq!(word(&none), pair("ask", "preset"));
    let allowed = explain(&fixture, "greet()", set(&[(Verdict::Allow, "greet")])).await;
    assert_eq!(word(&allowed), pair("allow", "rule"));
    assert_eq!(allowed.origin.as_deref(), Some("rules:1"));
    let rules = set(&[(Verdict::Deny, "Bash(rm:*)"), (Verdict::Allow, "Bash(ls)")]);
    let line = explain(&fixture, "ls && rm x", rules.clone()).await;
    assert_eq!(word(&line), pair("deny", "rule"));
    let parts: Vec<&str> = line.segments.iter().map(|part| part.verdict.as_str()).collect();
    assert_eq!(parts, ["allow", "deny"]);
    let class = explain(&fixture, "Bash(rm x)", rules).await;
    assert_eq!(word(&class), pair("deny", "rule"));
}

/// Regression: REST returned no verdict for a disabled tool.
#[tokio::test]
async fn a_tool_that_is_off_has_the_verdict_of_rules_and_a_refusal() {
    let fixture = Fixture::new().await;
    fixture.toolcrib.catalog().set_tool_state("greet", SwitchState::Off).unwrap();
    let said = explain(&fixture, "greet()", set(&[(Verdict::Deny, "greet")])).await;
    assert_eq!((said.verdict.as_str(), said.by.as_str()), ("deny", "rule"));
    assert_eq!(said.refused.unwrap().error_type, "tool_disabled");
}

/// The rules of the request apply, not those in force.
#[tokio::test]
async fn rules_in_force_are_replaced_by_those_of_the_question() {
    let in_force = set(&[(Verdict::Deny, "greet")]);
    let fixture = Fixture::build_with_rules(Risk::Safe, in_force).await;
    let said = explain(&fixture, "greet()", set(&[(Verdict::Ask, "greet")])).await;
    assert_eq!((said.verdict.as_str(), said.by.as_str()), ("ask", "rule"));
}

#[tokio::test]
async fn findings_of_unknown_tools_are_warnings_and_hide_no_error() {
    let fixture = Fixture::new().await;
    let known = rules::known_tools(&fixture.toolcrib);
    let mut written = sources(&[(Verdict::Deny, "gret"), (Verdict::Allow, "Bash(*)")]);
    written[0].text.expires = Some("2020-01-31".to_owned());
    let reply = rules::lint(&written, &known);
    let of = |origin: &str, severity: &str| {
        let found = reply.findings.iter();
        found.filter(|one| one.origin == origin && one.severity == severity).count()
    };
    assert_eq!((of("rules:1", "warning"), of("rules:1", "error")), (2, 0), "{reply:?}");
    assert_eq!((of("rules:2", "warning"), of("rules:2", "error")), (0, 1), "{reply:?}");
}

#[test]
fn examples_are_counted_and_failing_ones_named() {
    let mut written = sources(&[(Verdict::Ask, "Bash(git push:*)"), (Verdict::Ask, "Bash(")]);
    written[0].text.matches = vec!["git push".to_owned(), "git pull".to_owned()];
    let reply = rules::test(&written);
    assert_eq!((reply.rules, reply.rules_with_examples, reply.examples), (2, 1, 2));
    assert_eq!((reply.failed.len(), reply.unusable.len()), (1, 1), "{reply:?}");
}

#[tokio::test]
async fn rules_are_added_listed_enforced_and_removed_in_their_file() {
    let fixture = Fixture::new().await;
    let folder = tempfile::tempdir().unwrap();
    let place = RuleFile::new(Layer::User, folder.path().join("rules.toml"));
    let known = rules::known_tools(&fixture.toolcrib);
    let add = |rule: RuleText| {
        rules::add(AddRulesRequest {
            place: place.clone(),
            rules: vec![rule],
            known: &known,
            is_read: None,
        })
    };
    let observed = RuleText { is_observed: true, ..text(Verdict::Deny, "greet") };
    let added = add(observed).unwrap().reply().unwrap();
    assert!(added.changed && !added.rules[0].counts && added.remarks.is_empty(), "{added:?}");
    let expired =
        RuleText { expires: Some("2020-01-31".to_owned()), ..text(Verdict::Ask, "Write") };
    assert_eq!(add(expired.clone()).unwrap().reply().unwrap().remarks.len(), 1);
    assert!(!add(expired).unwrap().reply().unwrap().changed);
    for slip in ["gret", "Reed(./x)", "Bash(git push"] {
        let error = add(text(Verdict::Deny, slip)).unwrap_err();
        assert!(matches!(error, OpError::Unusable(_)), "{slip}: {error:?}");
    }
    let files = [place.clone()];
    let first = NumberedRule::find(&files, &RuleName::Number(1), false).unwrap();
    let enforced = first.clone().enforce(None).unwrap().reply().unwrap();
    assert!(enforced.changed && enforced.rules[0].counts, "{enforced:?}");
    // The file has changed since the number was read.
    assert!(matches!(first.remove(None), Err(OpError::Stale(_))));
    let by_text = RuleName::Text("greet".to_owned());
    let found = NumberedRule::find(&files, &by_text, false).unwrap();
    let nothing_read = |_: &str| false;
    assert!(matches!(found.clone().remove(Some(&nothing_read)), Err(OpError::Stale(_))));
    assert_eq!(found.remove(None).unwrap().reply().unwrap().rules.len(), 1);
    let missing = NumberedRule::find(&files, &RuleName::Number(2), false).unwrap_err();
    assert!(matches!(missing, OpError::NotFound { .. }), "{missing:?}");
}

#[test]
fn a_rule_of_the_operator_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.toml");
    std::fs::write(&path, "[[rules]]\neffect = \"deny\"\nrule = \"Edit\"\n").unwrap();
    let files = [RuleFile::new(Layer::Managed, &path)];
    let rule = NumberedRule::find(&files, &RuleName::Number(1), false).unwrap();
    assert!(matches!(rule.remove(None), Err(OpError::Denied(_))));
    assert!(std::fs::read_to_string(&path).unwrap().contains("Edit"));
}

#[tokio::test]
async fn changed_rules_are_compared_with_the_history() {
    let fixture = Fixture::new().await;
    fixture.call("greet", json!({})).await;
    let in_force = RuleSet::default();
    let rules = sources(&[(Verdict::Deny, "greet")]);
    let change = RulesChange::Replace { layer: Layer::User, rules };
    let request = ReplayRequest { in_force: &in_force, change, preset: Preset::default() };
    let reply = rules::replay(&fixture.ctx(), request.clone()).await.unwrap();
    assert_eq!((reply.compared, reply.differences.len()), (1, 1));
    let one = &reply.differences[0];
    assert_eq!((one.before.as_str(), one.after.as_str()), ("allow", "deny"));
    let of_other = fixture.ctx_of(fixture.other_owner());
    assert_eq!(rules::replay(&of_other, request).await.unwrap().compared, 0);
}

#[test]
fn a_line_is_judged_with_its_own_rules() {
    let mut judge = LineJudge::default();
    let mut ask = |question| {
        let question = serde_json::from_value(question).unwrap();
        judge.answer(&question)
    };
    let said = ask(json!({"rules": {"deny": ["Bash(rm:*)"]}, "command": "sudo rm x"})).unwrap();
    assert_eq!((said.verdict.as_str(), said.rule.as_deref()), ("deny", Some("Bash(rm:*)")));
    assert_eq!(ask(json!({"command": "ls"})).unwrap().verdict.as_str(), "ask");
    let error = ask(json!({"rules": {"denied": []}, "command": "ls"})).unwrap_err();
    assert!(error.contains("denied"), "{error}");
}
