//! Rules that lint reports, and rules that it accepts.

use serde_json::json;

use super::*;
use crate::rules::RuleText;

fn written(effect: &str, rule: &str, more: Value) -> RuleSource {
    let mut value = json!({"effect": effect, "rule": rule});
    for (key, member) in more.as_object().expect("an object") {
        value[key] = member.clone();
    }
    let text: RuleText = serde_json::from_value(value).expect("a rule");
    RuleSource { text, layer: Layer::User, origin: format!("/r/rules.toml:{}", rule.len()) }
}

/// Findings without the note that every denied path has
/// (`a_denied_path_has_a_note_about_its_limits`).
fn findings(rules: &[RuleSource]) -> Vec<(Severity, String)> {
    let found = check(rules, None).0.into_iter().map(|finding| (finding.severity, finding.what));
    found.filter(|(_, what)| !what.contains(LIMITS)).collect()
}

const LIMITS: &str = "from the objects of the repository";

#[test]
fn a_denied_path_has_a_note_about_its_limits() {
    for (effect, rule, has_note) in [
        ("deny", "Read(./secrets/**)", true),
        ("ask", "Read(./secrets/**)", false),
        ("deny", "Edit(./secrets/**)", false),
        ("deny", "Read", false),
    ] {
        let found = check(&[written(effect, rule, json!({}))], None).0;
        assert_eq!(found.iter().any(|one| one.what.contains(LIMITS)), has_note, "{effect} {rule}");
    }
}

#[test]
fn single_rules() {
    use Severity::{Error, Warning};
    for (effect, rule, more, expected) in [
        ("allow", "Bash(git push:*)", json!({}), None),
        ("allow", "Write(./out/**)", json!({}), None),
        ("deny", "Bash", json!({}), None),
        ("deny", "mcp__*", json!({}), None),
        ("allow", "mcp__github__*", json!({}), None),
        ("allow", "Bash(git:*)", json!({}), Some((Warning, "hooks of the repository"))),
        ("allow", "Bash", json!({}), Some((Error, "unsafe = true"))),
        ("allow", "Bash(*)", json!({}), Some((Error, "unsafe = true"))),
        ("allow", "Bash", json!({"unsafe": true}), None),
        ("allow", "Bash(sudo:*)", json!({}), Some((Error, "sudo runs the program"))),
        ("deny", "Bash(sudo:*)", json!({}), None),
        ("ask", "Bash(python:*)", json!({}), None),
        ("allow", "Bash(python:*)", json!({}), Some((Error, "script file"))),
        ("allow", "Bash(python:*)", json!({"unsafe": true}), None),
        ("allow", "Bash(git * main)", json!({}), Some((Error, "Bash(git:*)"))),
        ("deny", "Bash(git * main)", json!({}), None),
        ("allow", "mcp__*", json!({}), Some((Error, "mcp__SERVER__*"))),
        ("deny", "Bash(command:rm *)", json!({}), Some((Error, "write Bash(rm *)"))),
        ("deny", "Bash(a && b)", json!({}), Some((Error, "one rule for each part"))),
        ("deny", "Bash(git push", json!({}), Some((Error, "write Bash(git push)"))),
        ("deny", "Bash()", json!({}), Some((Error, "write Bash"))),
        ("deny", "read(x)", json!({}), Some((Error, "write Read"))),
        ("deny", "WebFetch(https://x.y/z)", json!({}), Some((Error, "WebFetch(domain:x.y)"))),
        ("deny", "WebFetch(x.y)", json!({}), Some((Error, "WebFetch(domain:x.y)"))),
        ("allow", "WebFetch(domain:*)", json!({}), Some((Error, "every host"))),
        ("deny", "Read(/etc/passwd)", json!({}), Some((Warning, "//etc/passwd"))),
        ("deny", "Bash(x)", json!({"expires": "2001-01-01"}), Some((Warning, "has ended"))),
        ("deny", "Bash(x)", json!({"expires": "soon"}), Some((Error, "2027-01-31"))),
        ("deny", "Bash(x)", json!({"channels": ["chats"]}), Some((Error, "write chat"))),
        ("deny", "Bash(x)", json!({"agents": [""]}), Some((Error, "leave agents out"))),
        ("deny", "Bash(x)", json!({"workspaces": ["a"]}), Some((Error, "whole path"))),
    ] {
        let found = findings(&[written(effect, rule, more.clone())]);
        match expected {
            None => assert!(found.is_empty(), "{effect} {rule} {more}: {found:?}"),
            Some((severity, words)) => {
                assert_eq!(found.len(), 1, "{effect} {rule} {more}: {found:?}");
                assert_eq!(found[0].0, severity, "{found:?}");
                assert!(found[0].1.contains(words), "{effect} {rule} {more}: {found:?}");
            }
        }
    }
}

#[test]
fn examples_are_checked() {
    for (effect, rule, matches, not_match, expected) in [
        ("deny", "Bash(git push:*)", "git push origin", "git status", None),
        ("deny", "Bash(git push:*)", "sudo git push", "git pushx", None),
        ("deny", "Bash(git push:*)", "git pull", "git status", Some("git pull")),
        ("deny", "Bash(git push:*)", "git push", "ls && git push", Some("ls && git push")),
        ("allow", "Bash(git log:*)", "git log -n 1", "git log && rm x", None),
        ("deny", "Read(./secrets/**)", "secrets/a", "src/a", None),
        ("deny", "Edit(./secrets/**)", "secrets/a", "src/a", None),
        ("allow", "Edit(./out/**)", "out/a", "src/a", None),
        ("deny", "delete_file(./out/**)", "out/a", "src/a", None),
        ("deny", "WebFetch(domain:evil.com)", "https://a.evil.com/x", "evil.org", None),
        ("deny", "mcp__mail__send(to:*@evil.com)", "b@evil.com", "b@good.com", None),
        ("deny", "mcp__github__*", "mcp__github__push", "gitlab__push", None),
        ("deny", "Task(Explore)", "Explore", "Plan", None),
    ] {
        let more = json!({"match": [matches], "not_match": [not_match], "agents": ["a"]});
        let found = findings(&[written(effect, rule, more)]);
        match expected {
            None => assert!(found.is_empty(), "{rule}: {found:?}"),
            Some(example) => {
                assert_eq!(found.len(), 1, "{rule}: {found:?}");
                assert!(found[0].1.contains(example), "{found:?}");
            }
        }
    }
}

#[test]
fn rules_beside_each_other() {
    let deny = |more| written("deny", "Bash(git push:*)", more);
    let again = |more| written("deny", "Bash(git push *)", more);
    let allow = |more| written("allow", "Bash(git push:*)", more);
    let managed = |mut rule: RuleSource| {
        rule.layer = Layer::Managed;
        rule
    };
    let none = || json!({});
    for (rules, expected) in [
        (vec![deny(none()), again(none())], Some((Severity::Error, "the same rule"))),
        (vec![deny(none()), again(json!({"agents": ["a"]}))], None),
        (
            vec![deny(json!({"agents": ["a", "b"]})), again(json!({"agents": ["b", "a"]}))],
            Some((Severity::Error, "the same rule")),
        ),
        (vec![managed(deny(none())), again(none())], None),
        (vec![deny(none()), allow(none())], Some((Severity::Error, "never allows"))),
        (
            vec![deny(none()), allow(json!({"agents": ["a"]}))],
            Some((Severity::Error, "never allows")),
        ),
        (vec![deny(json!({"agents": ["a"]})), allow(none())], None),
        (vec![managed(deny(none())), allow(none())], Some((Severity::Warning, "never allows"))),
    ] {
        let found = findings(&rules);
        match expected {
            None => assert!(found.is_empty(), "{rules:?}: {found:?}"),
            Some((severity, words)) => {
                assert_eq!(found.len(), 1, "{rules:?}: {found:?}");
                assert!(found[0].0 == severity && found[0].1.contains(words), "{found:?}");
            }
        }
    }
}

#[test]
fn one_bad_rule_takes_all_with_it_and_every_fault_is_named() {
    let rules = vec![
        written("deny", "Bash(rm:*)", json!({})),
        written("deny", "Bash(", json!({})),
        written("allow", "Bash(eval:*)", json!({})),
    ];
    let faults = RuleSet::compile(rules).expect_err("faults");
    assert_eq!(faults.len(), 2);
    assert_eq!(faults[0].rule, "Bash(");
    assert!(faults[1].to_string().contains("Bash(eval:*)"));
}

#[test]
fn names_of_tools_where_they_are_known() {
    let known = ["get_weather".to_owned()];
    for (rule, is_fine) in [
        ("get_weather", true),
        ("get_wether", false),
        ("other__tool", true),
        ("mcp__other__tool", true),
        ("Bash(ls)", true),
        ("WebSearch", true),
    ] {
        let found = RuleSet::lint_for(&[written("deny", rule, json!({}))], &known);
        assert_eq!(found.is_empty(), is_fine, "{rule}: {found:?}");
    }
}
