//! Rule files apply to calls of every command.

use std::fs;

use serde_json::{Value, json};

use crate::support::{self, TestEnv, ask, body};

fn write_own(env: &TestEnv, name: &str, text: &str) {
    let home = env.outside().join("home");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join(name), text).unwrap();
}

fn rule(effect: &str, rule: &str) -> String {
    format!(
        "[[rules]]\neffect = \"{effect}\"\nrule = \"{rule}\"\nreason = \"because of {effect}\"\n"
    )
}

fn trust(env: &TestEnv) {
    let root = env.root();
    write_own(env, "config.toml", &format!("trusted_workspaces = [{root:?}]\n"));
}

#[track_caller]
fn ends(env: &TestEnv, tool: &str, args: &Value, outcome: &str, code: i32) -> Value {
    let (reply, exit) = env.call(tool, args, &[]);
    assert_eq!((reply["outcome"].as_str(), exit), (Some(outcome), code), "{reply}");
    reply
}

#[test]
fn the_persons_own_rules_govern_a_call() {
    let env = TestEnv::new();
    env.write("secrets/key", "abc");
    write_own(
        &env,
        "rules.toml",
        &(rule("deny", "Read(./secrets/**)") + &rule("allow", "delete_file")),
    );
    let reply = ends(&env, "read_file", &json!({"path": "secrets/key"}), "denied", 5);
    assert_eq!(reply["error_type"], "policy_denied");
    let text = reply["result"].as_str().unwrap();
    for words in ["Read(./secrets/**)", "rules.toml:1", "because of deny"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Other names of the same file.
    for path in
        ["./secrets/key", "x/../secrets/key", env.root().join("secrets/key").to_str().unwrap()]
    {
        ends(&env, "read_file", &json!({"path": path}), "denied", 5);
    }
    ends(&env, "read_file", &json!({"path": "notes.md"}), "succeeded", 0);
    // A rule has precedence over the preset, which would have asked.
    ends(&env, "delete_file", &json!({"path": "notes.md"}), "succeeded", 0);
}

#[test]
fn an_asking_rule_asks() {
    let env = TestEnv::new();
    write_own(&env, "rules.toml", &rule("ask", "Read(./notes.md)"));
    let reply = ends(&env, "read_file", &json!({"path": "notes.md"}), "denied", 5);
    assert_eq!(reply["error_type"], "approval_denied");
    let ended = env.run(&[
        "tool",
        "call",
        "read_file",
        "--args",
        "{\"path\": \"notes.md\"}",
        "--on-ask",
        "fail",
    ]);
    assert_eq!(ended.code, 6, "{ended:?}");
    let waiting = env.run(&["approve", "list", "--json"]).code(0).stdout;
    assert!(waiting.contains("Read(./notes.md)"), "{waiting}");
}

#[test]
fn a_project_tightens_and_loosens_only_when_it_is_trusted() {
    let env = TestEnv::new();
    env.write(
        ".toolcrib/rules.toml",
        rule("deny", "Edit(./locked/**)") + &rule("allow", "delete_file"),
    );
    let write = json!({"path": "locked/a", "content": "x"});
    let delete = json!({"path": "notes.md"});
    ends(&env, "write_file", &write, "denied", 5);
    ends(&env, "delete_file", &delete, "denied", 5);
    trust(&env);
    ends(&env, "write_file", &write, "denied", 5);
    ends(&env, "delete_file", &delete, "succeeded", 0);
}

#[test]
fn no_layer_softens_what_another_denies() {
    let env = TestEnv::new();
    trust(&env);
    env.write(".toolcrib/rules.toml", rule("allow", "delete_file"));
    write_own(&env, "rules.toml", &rule("deny", "delete_file"));
    let reply = ends(&env, "delete_file", &json!({"path": "notes.md"}), "denied", 5);
    assert!(reply["result"].as_str().unwrap().contains("home/rules.toml:1"), "{reply}");
    let managed = env.outside().join("managed.toml");
    fs::write(&managed, rule("deny", "Read")).unwrap();
    write_own(&env, "rules.toml", &rule("allow", "Read"));
    let mut command =
        env.command(&["tool", "call", "read_file", "--args", "{\"path\": \"notes.md\"}"]);
    command.env("TOOLCRIB_MANAGED_RULES", &managed);
    let ended = support::end(command, b"");
    assert_ne!(ended.code, 0, "{ended:?}");
}

#[test]
fn rules_are_out_of_reach_of_file_tools() {
    let env = TestEnv::new();
    env.write(".toolcrib/rules.toml", rule("deny", "WebSearch"));
    let home = env.outside().join("home/rules.toml");
    write_own(&env, "rules.toml", &rule("deny", "WebFetch"));
    let outside = env.outside().to_str().unwrap().to_owned();
    for path in [".toolcrib/rules.toml", home.to_str().unwrap()] {
        let args = json!({"path": path, "content": ""});
        let (reply, code) =
            env.call("write_file", &args, &["--root", &outside, "--policy", "auto"]);
        assert_ne!(code, 0, "{reply}");
    }
    assert!(env.read(".toolcrib/rules.toml").unwrap().contains("WebSearch"));
    assert!(fs::read_to_string(home).unwrap().contains("WebFetch"));
}

#[test]
fn exec_and_runs_are_governed_too() {
    let env = TestEnv::new();
    write_own(&env, "rules.toml", &rule("deny", "Read(./notes.md)"));
    let answer = body("anthropic", &[ask("a", "read_file", json!({"path": "notes.md"}))]);
    let ended = env.feed(&["exec"], answer).code(0);
    assert!(
        ended.stdout.contains("Read(./notes.md)") && !ended.stdout.contains("oats"),
        "{}",
        ended.stdout
    );
    let turns = "  - calls: [{tool: read_file, args: {path: notes.md}}]\n  - say: Done.\n";
    let ended = env.play(turns, &["--json"]);
    assert!(
        ended.stdout.contains("Read(./notes.md)") && !ended.stdout.contains("oats"),
        "{}",
        ended.stdout
    );
}

#[test]
fn an_approval_does_not_go_past_a_rule_that_came_later() {
    let env = TestEnv::new();
    let ended = env.run(&[
        "tool",
        "call",
        "delete_file",
        "--args",
        "{\"path\": \"notes.md\"}",
        "--on-ask",
        "fail",
    ]);
    assert_eq!(ended.code, 6, "{ended:?}");
    let waiting = support::json(&env.run(&["approve", "list", "--json"]).code(0).stdout);
    let id = waiting[0]["id"].as_str().unwrap().to_owned();
    write_own(&env, "rules.toml", &rule("deny", "delete_file"));
    let ended = env.run(&["approve", "yes", &id]);
    assert_ne!(ended.code, 0, "{ended:?}");
    assert!(env.read("notes.md").is_some());
}

#[test]
fn rules_hold_for_their_agent_channel_and_workspace_only() {
    let env = TestEnv::new();
    let scoped = |scope: &str| format!("[[rules]]\neffect = \"deny\"\nrule = \"Read\"\n{scope}\n");
    let here = format!("workspaces = [{:?}]", env.root());
    let read = json!({"path": "notes.md"});
    for (scope, outcome, code) in [
        ("channels = [\"chat\"]", "denied", 5),
        ("channels = [\"background\"]", "succeeded", 0),
        ("agents = [\"somebody\"]", "succeeded", 0),
        (here.as_str(), "denied", 5),
        ("workspaces = [\"/elsewhere\"]", "succeeded", 0),
        ("expires = \"2001-01-01\"", "succeeded", 0),
    ] {
        write_own(&env, "rules.toml", &scoped(scope));
        let (reply, exit) = env.call("read_file", &read, &[]);
        assert_eq!((reply["outcome"].as_str(), exit), (Some(outcome), code), "{scope}: {reply}");
    }
}
