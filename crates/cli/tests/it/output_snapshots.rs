//! The output of the most used commands for people. Times, ids and paths are redacted.

use crate::snapshots;
use crate::support::{self, TestEnv};

/// A run that reads a file, and is denied to delete it.
const SCRIPT: &str = "
  - say: Let me look.
    usage: {input: 100, output: 10}
    calls: [{tool: read_file, args: {path: notes.md}}]
  - calls: [{tool: delete_file, args: {path: notes.md}}]
  - say: You want oats.
    usage: {input: 120, output: 5}
";

const CALLS: [(&str, &[&str]); 6] = [
    ("tool-list", &["tool", "list"]),
    ("tool-show", &["tool", "show", "get_current_time"]),
    ("tool-why", &["tool", "why", "delete_file"]),
    (
        "tool-call",
        &["tool", "call", "write_file", "--args", r#"{"path":"a.txt","content":"hello"}"#],
    ),
    ("tool-call-failed", &["tool", "call", "read_file", "--args", r#"{"path":"missing.md"}"#]),
    ("find", &["tool", "find", "delete a file"]),
];

const LOOKS: [(&str, &[&str]); 9] = [
    ("history", &["history"]),
    ("metrics", &["metrics"]),
    ("usage", &["usage"]),
    ("conversation-list", &["conversation", "list"]),
    ("approve-list", &["approve", "list"]),
    ("resume-list", &["resume", "--list"]),
    ("artifact-list", &["artifact", "list"]),
    ("undo-list", &["undo", "--list"]),
    ("undo", &["undo"]),
];

const SETTINGS: [(&str, &[&str]); 15] = [
    ("config-set", &["config", "set", "limits.rounds", "20"]),
    ("config-list", &["config", "list"]),
    ("config-check", &["config", "check"]),
    ("rules-add", &["rules", "add", "deny", "delete_file"]),
    ("rules-list", &["rules", "list"]),
    ("rules-explain", &["rules", "explain", "--tool", "delete_file"]),
    ("trust", &["trust"]),
    ("grant-list", &["grant", "list"]),
    ("secret-list", &["secret", "list"]),
    ("agent-list", &["agent", "list"]),
    ("skill-list", &["skill", "list"]),
    ("kit-list", &["kit", "list"]),
    ("status", &["status"]),
    ("stop-tools", &["stop-tools"]),
    ("start-tools", &["start-tools"]),
];

#[test]
fn calls_and_what_is_recorded_of_them() {
    let env = TestEnv::new();
    let model = env.script("script", SCRIPT);
    snapshots::compare_run(&env, "output", "run", &["run", "--model", &model, "What do I want?"]);
    for (name, args) in CALLS.into_iter().chain(LOOKS) {
        snapshots::compare_run(&env, "output", name, args);
    }
    let history = env.run(&["history", "--json", "--tool", "write_file"]).code(0).stdout;
    let call = support::json(&history)[0]["call"].as_str().unwrap().to_owned();
    snapshots::compare_run(&env, "output", "explain", &["explain", &call]);
}

#[test]
fn settings_rules_and_switches() {
    let env = TestEnv::new();
    for (name, args) in SETTINGS {
        snapshots::compare_run(&env, "output", name, args);
    }
}

#[test]
fn no_snapshot_is_left_over() {
    let named = CALLS.iter().chain(&LOOKS).chain(&SETTINGS).map(|(name, _)| (*name).to_owned());
    let names: Vec<String> = named.chain(["run".to_owned(), "explain".to_owned()]).collect();
    snapshots::no_others("output", &names);
}
