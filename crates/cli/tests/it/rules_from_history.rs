//! Rules derived from the history: `rules replay`, `rules suggest` and observed rules.

use serde_json::Value;

use crate::support::{self, TestEnv};

/// Calls a tool that asks, and decides the question.
fn decide(env: &TestEnv, call: &[&str], decision: &str) {
    let args = [&["tool", "call"], call, &["--on-ask", "fail"]].concat();
    env.run(&args).code(6);
    let id = env.inbox(&[])[0]["id"].as_str().unwrap().to_owned();
    env.run(&["approve", decision, &id]);
}

fn suggestions(env: &TestEnv) -> Vec<Value> {
    let reply = support::json(&env.run(&["rules", "suggest", "--json"]).code(0).stdout);
    reply["suggestions"].as_array().unwrap().clone()
}

#[test]
fn a_rule_is_suggested_from_the_third_approval_on_and_answers_the_fourth() {
    let env = TestEnv::new();
    env.run(&["rules", "add", "ask", "write_file(./other/**)"]).code(0);
    let call = ["write_file", "path=notes.md", "content=x", "--policy", "ask-all"];
    decide(&env, &call, "yes");
    decide(&env, &call, "yes");
    env.run(&["rules", "suggest"]).code(0).says(&["no rule to suggest"]);
    decide(&env, &call, "yes");
    let found = suggestions(&env);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["rule"], "write_file(./notes.md)");
    assert_eq!(
        (found[0]["approvals"].as_u64(), found[0]["past_calls"].as_u64()),
        (Some(3), Some(3))
    );
    let workspace = found[0]["workspace"].as_str().unwrap();
    let shown = env.run(&["rules", "suggest"]).code(0);
    let command = "toolcrib rules add allow 'write_file(./notes.md)' --workspace ";
    assert!(shown.stdout.contains(command), "{}", shown.stdout);
    env.run(&["rules", "add", "allow", "write_file(./notes.md)", "--workspace", workspace]).code(0);
    let again = [&["tool", "call"], &call[..], &["--on-ask", "fail"]].concat();
    env.run(&again).code(0);
    let other = ["write_file", "path=notes.mdx", "content=x", "--policy", "ask-all"];
    env.run(&[&["tool", "call"], &other[..], &["--on-ask", "fail"]].concat()).code(6);
    assert!(suggestions(&env).is_empty(), "a call that a rule allows asks for no rule");
}

/// A call with more than the approved argument has no exact rule: deleting accepts `recursive`, and
/// a rule on its path would also allow that.
#[test]
fn what_no_exact_rule_covers_is_not_suggested() {
    let env = TestEnv::new();
    for _ in 0..3 {
        env.write("old.md", "x");
        decide(&env, &["delete_file", "path=old.md"], "yes");
    }
    assert!(suggestions(&env).is_empty());
}

#[test]
fn a_call_that_a_person_denied_is_not_suggested() {
    let env = TestEnv::new();
    let call = ["write_file", "path=notes.md", "content=x", "--policy", "ask-all"];
    for decision in ["yes", "no", "yes", "yes"] {
        decide(&env, &call, decision);
    }
    assert!(suggestions(&env).is_empty());
}

#[test]
fn replay_shows_what_changed_rules_would_have_decided() {
    let env = TestEnv::new();
    for (path, times) in [("a.md", 2), ("secret/b.md", 1)] {
        env.write(path, "x");
        let path = format!("path={path}");
        (0..times).for_each(|_| drop(env.run(&["tool", "call", "read_file", &path]).code(0)));
    }
    env.run(&["rules", "replay"]).code(2).says(&["no rule is only observed"]);
    env.write("new.toml", "[[rules]]\neffect = \"deny\"\nrule = \"Read(./secret/**)\"\n");
    let file = "new.toml";
    let reply = support::json(&env.run(&["rules", "replay", file, "--json"]).code(0).stdout);
    assert_eq!((reply["compared"].as_u64(), reply["truncated"].as_bool()), (Some(3), Some(false)));
    let differences = reply["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{reply}");
    assert_eq!(
        (&differences[0]["before"], &differences[0]["after"]),
        (&"allow".into(), &"deny".into())
    );
    let shown = env.run(&["rules", "replay", file]).code(0).says(&["1 of 3 past calls"]);
    assert!(shown.stdout.contains("1x  allow -> deny   read_file"), "{}", shown.stdout);
    assert!(shown.stdout.contains("deny Read(./secret/**)"), "{}", shown.stdout);
    env.write("broken.toml", "[[rules]]\neffect = \"deny\"\n");
    env.run(&["rules", "replay", "broken.toml"]).code(3);
    env.run(&["rules", "replay", "missing.toml"]).code(3).says(&["missing.toml"]);
}

#[test]
fn an_observed_rule_counts_and_decides_nothing_until_it_is_put_in_force() {
    let env = TestEnv::new();
    env.write("a.md", "x");
    let read = ["tool", "call", "read_file", "path=a.md"];
    let add = ["rules", "add", "deny", "Read(./a.md)"];
    env.run(&[&add[..], &["--observe"]].concat()).code(0).says(&["decides nothing yet"]);
    env.run(&read).code(0);
    env.run(&read).code(0);
    let listed = env.run(&["rules", "list"]).code(0);
    let counted = "only observed: it would have decided 2 of 2 past calls";
    assert!(listed.stdout.contains(counted), "{}", listed.stdout);
    env.run(&["rules", "replay"]).code(0).says(&["2 of 2 past calls"]);
    let exported = env.run(&["rules", "export"]).code(0);
    assert!(exported.stdout.contains("observe = true"), "{}", exported.stdout);
    env.run(&["rules", "enforce", "7"]).code(4).says(&["no rule number 7"]);
    env.run(&["rules", "enforce", "1"]).code(0).says(&["in force: deny Read(./a.md)"]);
    env.run(&["rules", "enforce", "1"]).code(0).says(&["in force already"]);
    env.run(&read).code(5);
    env.run(&["rules", "rm", "1"]).code(0);
    env.run(&[&add[..], &["--observe"]].concat()).code(0);
    env.run(&read).code(0);
    env.run(&add).code(0).says(&["added"]);
    env.run(&read).code(5);
    let rules = support::json(&env.run(&["rules", "list", "--json"]).code(0).stdout);
    assert_eq!(rules.as_array().unwrap().len(), 1, "{rules}");
}
