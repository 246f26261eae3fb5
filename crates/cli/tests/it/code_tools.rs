//! Diffs, searches, git and tests through the binary.

use serde_json::{Value, json};

use crate::support::TestEnv;

#[track_caller]
fn done(env: &TestEnv, tool: &str, args: Value) -> String {
    let (reply, code) = env.call(tool, &args, &["--policy", "auto"]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("succeeded"), 0), "{tool} {args}: {reply}");
    reply["result"].as_str().map_or_else(|| reply["result"].to_string(), str::to_owned)
}

fn deny(env: &TestEnv, rule: &str) {
    env.own("rules.toml", &format!("[[rules]]\neffect = \"deny\"\nrule = \"{rule}\"\n"));
}

#[test]
fn a_diff_of_two_files_is_one_change_and_one_undo() {
    let env = TestEnv::new();
    let diff = "--- a/notes.md\n+++ b/notes.md\n@@ -1 +1 @@\n-buy oats\n+buy rice\n--- /dev/null\n+++ b/new/list.md\n@@ -0,0 +1 @@\n+rice\n";
    let args = json!({"paths": ["notes.md", "new/list.md"], "diff": diff});
    let told = done(&env, "diff_editor", args.clone());
    assert!(told.contains("Successfully created new/list.md"), "{told}");
    assert_eq!(env.read("notes.md").as_deref(), Some("buy rice\n"));
    let (again, code) = env.call("diff_editor", &args, &["--policy", "auto"]);
    assert_eq!((again["error_type"].as_str(), code), (Some("execution_error"), 1), "{again}");
    env.run(&["undo"]).code(0);
    assert_eq!(env.read("notes.md").as_deref(), Some("buy oats\n"));
    assert_eq!(env.names(), ["notes.md"]);
}

#[test]
fn rules_about_editing_hold_for_diffs() {
    let env = TestEnv::new();
    let args = json!({"path": "notes.md", "diff": "@@ -1 +1 @@\n-buy oats\n+buy rice\n"});
    for rule in ["Edit(notes.md)", "Edit", "diff_editor(*.md)", "diff_editor"] {
        deny(&env, rule);
        let (reply, code) = env.call("diff_editor", &args, &["--policy", "auto"]);
        assert_eq!((reply["outcome"].as_str(), code), (Some("denied"), 5), "{rule}: {reply}");
    }
    assert_eq!(env.read("notes.md").as_deref(), Some("buy oats\n"));
}

#[test]
fn contents_are_searched_and_file_manager_is_other_names() {
    let env = TestEnv::new();
    let told = done(&env, "code_search", json!({"pattern": "OATS"}));
    assert!(told.contains("notes.md:1: buy oats"), "{told}");
    assert_eq!(
        done(&env, "file_manager", json!({"action": "read", "path": "notes.md"})),
        "buy oats\n"
    );
    done(
        &env,
        "file_manager",
        json!({"action": "append", "file_path": "notes.md", "content": "more\n"}),
    );
    assert_eq!(env.read("notes.md").as_deref(), Some("buy oats\nmore\n"));
    let args = json!({"action": "read", "path": "notes.md"});
    for rule in ["file_manager", "file_manager.read", "read_file", "Read(notes.md)"] {
        deny(&env, rule);
        let (reply, code) = env.call("file_manager", &args, &["--policy", "auto"]);
        assert_eq!((reply["outcome"].as_str(), code), (Some("denied"), 5), "{rule}: {reply}");
    }
}

#[test]
fn git_and_tests_run_and_their_operations_have_rules() {
    let env = TestEnv::new();
    let git = |args: Value| done(&env, "git_manager", args);
    git(json!({"action": "init"}));
    git(json!({"action": "add"}));
    git(json!({"action": "commit", "message": "Notes"}));
    assert!(git(json!({"action": "log"})).contains(" - Notes (Toolcrib, "));
    let commit = json!({"action": "commit", "message": "More"});
    let (reply, code) = env.call("git_manager", &commit, &[]);
    assert!(reply["outcome"] == "denied" && code != 0, "{reply}");
    deny(&env, "git_manager.commit");
    let (reply, code) = env.call("git_manager", &commit, &["--policy", "auto"]);
    assert_eq!((reply["error_type"].as_str(), code), (Some("policy_denied"), 5), "{reply}");
    git(json!({"action": "status"}));
    env.write("Makefile", "test:\n\t@echo 2 passed in 0.1s\n");
    let told = done(&env, "test_runner", json!({}));
    assert!(told.contains("Tests passed: 2 passed."), "{told}");
}
