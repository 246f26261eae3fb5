//! `toolcrib undo`: undoes changes of tools, and nothing else.

use serde_json::{Value, json};

use crate::support::{self, TestEnv};

fn change(env: &TestEnv, tool: &str, args: Value) {
    let (reply, code) = env.call(tool, &args, &["--policy", "auto"]);
    assert_eq!(code, 0, "{reply}");
}

/// Makes a write, an edit, a move and a delete, each in a separate process.
fn changed() -> TestEnv {
    let env = TestEnv::new();
    change(&env, "write_file", json!({"path": "new/plan.md", "content": "plan"}));
    change(&env, "edit_file", json!({"path": "notes.md", "old_text": "oats", "new_text": "rice"}));
    change(&env, "move_path", json!({"from": "new/plan.md", "to": "plan.md"}));
    change(&env, "delete_file", json!({"path": "notes.md"}));
    assert_eq!((env.read("notes.md"), env.read("plan.md").as_deref()), (None, Some("plan")));
    env
}

#[test]
fn step_by_step() {
    let env = changed();
    let undo = |says: &str| {
        let ended = env.run(&["undo"]).code(0);
        assert!(ended.stdout.starts_with(&format!("undone: {says}")), "{}", ended.stdout);
        assert_eq!(ended.stderr, "");
    };
    undo("delete notes.md (restored notes.md)");
    assert_eq!(env.read("notes.md").as_deref(), Some("buy rice\n"));
    undo("move new/plan.md");
    assert_eq!((env.read("new/plan.md").as_deref(), env.read("plan.md")), (Some("plan"), None));
    undo("edit notes.md (restored notes.md)");
    assert_eq!(env.read("notes.md").as_deref(), Some("buy oats\n"));
    undo("write new/plan.md (removed new/plan.md, removed new)");
    assert_eq!(env.names(), ["notes.md"]);
    let ended = env.run(&["undo"]).code(0).says(&["there is nothing to undo"]);
    assert_eq!(ended.stdout, "");
}

#[test]
fn several_at_once() {
    let env = changed();
    let reply = support::json(&env.run(&["undo", "3", "--yes", "--json"]).code(0).stdout);
    let undone: Vec<&Value> =
        reply["undone"].as_array().unwrap().iter().map(|u| &u["change"]["summary"]).collect();
    assert_eq!(undone[0], "delete notes.md");
    assert_eq!((undone.len(), &reply["refused"]), (3, &Value::Null));
    env.run(&["undo", "50", "--yes"]).code(0);
    assert_eq!(
        (env.names(), env.read("notes.md").as_deref()),
        (vec!["notes.md".to_owned()], Some("buy oats\n"))
    );
}

#[test]
fn the_list_shows_the_newest_first() {
    let env = changed();
    let text = env.run(&["undo", "--list"]).code(0).stdout;
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 4, "{text}");
    assert!(rows[0].starts_with("  1 ") && rows[0].ends_with("ago  delete notes.md"), "{text}");
    assert!(rows[3].starts_with("  4 ") && rows[3].ends_with("ago  write new/plan.md"), "{text}");
    let list = support::json(&env.run(&["undo", "--list", "--json"]).code(0).stdout);
    assert_eq!(list.as_array().unwrap().len(), 4);
    assert_eq!(list[0]["summary"], "delete notes.md");
    let ended = TestEnv::new().run(&["undo", "--list"]).code(0).says(&["nothing to undo"]);
    assert_eq!(ended.stdout, "");
}

#[test]
fn what_was_changed_since_is_left_alone_unless_forced() {
    let env = TestEnv::new();
    change(&env, "write_file", json!({"path": "notes.md", "content": "by the tool"}));
    env.write("notes.md", "by hand");
    let ended = env.run(&["undo"]).code(1).says(&["write notes.md was not undone", "--force"]);
    assert_eq!(ended.stdout, "");
    assert_eq!(env.read("notes.md").as_deref(), Some("by hand"));
    let ended = env.run(&["undo", "--json"]).code(1);
    assert_eq!(support::json(&ended.stdout)["refused"]["change"]["summary"], "write notes.md");
    assert_eq!(support::json(&ended.stderr)["exit_code"], 1);
    env.run(&["undo", "--force"]).code(0);
    assert_eq!(env.read("notes.md").as_deref(), Some("buy oats\n"));
}

#[test]
fn a_refused_call_leaves_nothing_to_undo() {
    let env = TestEnv::new();
    let (_, code) = env.call("delete_file", &json!({"path": "notes.md"}), &[]);
    assert_eq!(code, 5);
    env.run(&["undo"]).code(0).says(&["nothing to undo"]);
}

#[test]
fn several_changes_are_not_undone_unasked() {
    let env = TestEnv::new();
    for text in ["one", "two"] {
        let args = serde_json::json!({"path": "notes.md", "content": text});
        let (answer, _) = env.call("write_file", &args, &["--policy", "auto"]);
        assert_eq!(answer["outcome"], "succeeded", "{answer}");
    }
    let ended = env.run(&["undo", "999"]).code(2);
    let ended = ended.says(&["these 2 changes would be undone", "write notes.md", "--yes"]);
    assert_eq!((ended.stdout.as_str(), env.read("notes.md").as_deref()), ("", Some("two")));
    env.run(&["undo", "999", "--yes"]).code(0);
    assert_eq!(env.read("notes.md").as_deref(), Some("buy oats\n"));
}

#[test]
fn what_was_undone_is_redone() {
    let env = changed();
    env.run(&["undo", "4", "--yes"]).code(0);
    let text = env.run(&["redo", "--list"]).code(0).stdout;
    assert!(text.starts_with("  1 ") && text.contains("write new/plan.md"), "{text}");
    let ended = env.run(&["redo"]).code(0);
    assert_eq!(ended.stdout, "redone: write new/plan.md (restored new, restored new/plan.md)\n");
    env.run(&["redo", "9"]).code(2).says(&["these 3 changes would be redone", "--yes redoes"]);
    let reply = support::json(&env.run(&["redo", "9", "--yes", "--json"]).code(0).stdout);
    assert_eq!(reply["redone"].as_array().unwrap().len(), 3);
    assert_eq!((env.read("notes.md"), env.read("plan.md").as_deref()), (None, Some("plan")));
    env.run(&["redo"]).code(0).says(&["there is nothing to redo"]);
    let ended = env.run(&["redo", "--dry-run"]).code(0).says(&["there is nothing to redo"]);
    assert_eq!(ended.stdout, "");
    env.run(&["undo", "4", "--yes"]).code(0);
    assert_eq!(env.names(), ["notes.md"]);
}

#[test]
fn a_preview_shows_a_diff_of_each_file_and_changes_nothing() {
    let env = changed();
    let text = env.run(&["undo", "4", "--dry-run"]).code(0).stdout;
    assert!(text.contains("remove plan.md\n@@ -1 +0,0 @@\n-plan\n"), "{text}");
    assert!(text.contains("restore notes.md\n@@ -0,0 +1 @@\n+buy oats\n"), "{text}");
    let reply = support::json(&env.run(&["undo", "--dry-run", "--json"]).code(0).stdout);
    assert_eq!(reply["changes"][0]["summary"], "delete notes.md");
    assert_eq!(reply["files"][0]["act"], "restore");
    assert!(reply["files"][0]["diff"].as_str().unwrap().contains("+buy rice"), "{reply}");
    assert_eq!((env.read("notes.md"), env.read("plan.md").as_deref()), (None, Some("plan")));
    env.run(&["undo", "2"]).code(2).says(&["+buy rice", "--yes undoes"]);
}

#[test]
fn an_undo_is_in_the_history_and_the_audit_log() {
    let env = TestEnv::new();
    change(&env, "write_file", json!({"path": "notes.md", "content": "by the tool"}));
    env.run(&["undo"]).code(0);
    let row = &support::json(&env.run(&["history", "--json"]).code(0).stdout)[0];
    assert!(row["undone_at"].is_i64(), "{row}");
    let text = env.run(&["history"]).code(0).stdout;
    assert!(text.contains("succeeded, undone"), "{text}");
    let call = row["call"].as_str().unwrap();
    let text = env.run(&["explain", call]).code(0).stdout;
    assert!(text.contains("undone") && text.contains("toolcrib redo"), "{text}");
    let text = env.run(&["audit", "tail"]).code(0).stdout;
    assert!(
        text.lines().any(|line| line.contains("changes.undo") && line.contains(call)),
        "{text}"
    );
    env.run(&["audit", "verify"]).code(0);
    env.run(&["redo"]).code(0);
    let row = &support::json(&env.run(&["history", "--json"]).code(0).stdout)[0];
    assert_eq!(row["undone_at"], Value::Null);
}

/// The changes of a run are undone although others followed; if one of those affected the same
/// file, it is named.
#[test]
fn the_changes_of_one_run_are_undone() {
    let env = TestEnv::new();
    let turns = r#"
  - calls: [{tool: write_file, args: {path: a.md, content: a}}]
  - calls: [{tool: write_file, args: {path: notes.md, content: by the run}}]
  - {say: Written.}
"#;
    let model = env.script("script", turns);
    env.run(&["run", "--model", &model, "--policy", "auto", "Do it"]).code(0);
    change(&env, "write_file", json!({"path": "b.md", "content": "b"}));
    let listed = support::json(&env.run(&["undo", "--list", "--json"]).code(0).stdout);
    let run = listed[1]["run"].as_str().unwrap();
    assert_eq!((&listed[0]["run"], &listed[2]["run"]), (&Value::Null, &listed[1]["run"]));
    assert!(listed[1]["conversation"].is_string(), "{listed}");
    let rows = env.run(&["undo", "--run", run, "--list"]).code(0).stdout;
    assert_eq!(rows.lines().count(), 2, "{rows}");
    let ended = env.run(&["undo", "--run", run, "--yes"]).code(0);
    assert_eq!(ended.stdout.lines().count(), 2, "{}", ended.stdout);
    assert_eq!(env.names(), ["b.md", "notes.md"]);
    assert_eq!(env.read("notes.md").as_deref(), Some("buy oats\n"));
    env.run(&["redo", "2", "--yes"]).code(0);
    change(&env, "write_file", json!({"path": "notes.md", "content": "later"}));
    let conversation = listed[1]["conversation"].as_str().unwrap();
    let ended = env.run(&["undo", "--conversation", conversation, "--yes"]).code(1);
    ended.says(&["notes.md was changed since by \"write notes.md\""]);
    assert_eq!(env.read("notes.md").as_deref(), Some("later"));
    env.run(&["undo", "--run", "run_zz"]).code(4).says(&["there is no run run_zz"]);
}

/// Runs a shell command in these tests.
fn shell(env: &TestEnv, command: &str) {
    env.run(&["tool", "enable", "execute_shell_command"]).code(0);
    change(env, "execute_shell_command", json!({"command": command}));
}

/// Regression: a command that changed files left nothing to undo.
#[test]
fn what_a_shell_command_changed_is_listed_and_undone() {
    let env = TestEnv::new();
    env.write("old/a.txt", "a\n");
    env.write("old/deep/b.txt", "b\n");
    env.write(".gitignore", "build/\n");
    shell(
        &env,
        "echo more >> notes.md; rm -r old; mkdir new build; echo c > new/c; ln -s c new/link; echo x > build/x",
    );
    let list = env.run(&["undo", "--list"]).code(0);
    assert!(list.stdout.contains("shell command: "), "{}", list.stdout);
    assert!(!list.stdout.contains("build"), "what is ignored is not listed: {}", list.stdout);
    let diff = env.run(&["undo", "--dry-run"]).code(0);
    assert!(diff.stdout.contains("-more"), "{}", diff.stdout);

    env.run(&["undo"]).code(0);
    assert_eq!(env.read("notes.md").as_deref(), Some("buy oats\n"));
    assert_eq!(env.read("old/a.txt").as_deref(), Some("a\n"));
    assert_eq!(env.read("old/deep/b.txt").as_deref(), Some("b\n"));
    assert!(!env.root().join("new").exists());
    assert_eq!(env.read("build/x").as_deref(), Some("x\n"));

    env.run(&["redo"]).code(0);
    assert_eq!(env.read("notes.md").as_deref(), Some("buy oats\nmore\n"));
    assert_eq!((env.read("old/a.txt"), env.read("new/c").as_deref()), (None, Some("c\n")));
}

#[test]
fn a_command_that_changes_no_file_is_not_listed() {
    let env = TestEnv::new();
    shell(&env, "cat notes.md; touch notes.md; echo x > y; rm y");
    env.run(&["undo"]).code(0).says(&["there is nothing to undo"]);
}

#[test]
fn a_large_file_that_a_command_changed_is_listed_with_why_it_cannot_be_undone() {
    let env = TestEnv::new();
    env.write("large.txt", "0123456789abcde\n".repeat(20_000));
    shell(&env, "echo >> large.txt; echo more >> notes.md");
    env.run(&["undo"]).code(0);
    assert_eq!(env.read("notes.md").as_deref(), Some("buy oats\n"));
    let refused = env.run(&["undo"]).code(1);
    assert!(refused.stderr.contains("256 KB"), "{}", refused.stderr);
    assert_eq!(env.read("large.txt").map(|text| text.len()), Some(320_001));
}

/// A change of a file tool is undone once, although a command ran in the same workspace.
#[test]
fn an_edit_after_a_command_stands_in_the_way_of_undoing_the_command() {
    let env = TestEnv::new();
    shell(&env, "echo more >> notes.md");
    change(&env, "edit_file", json!({"path": "notes.md", "old_text": "more", "new_text": "less"}));
    let numbers = env.run(&["undo", "--list"]).code(0).stdout.lines().count();
    assert!(numbers >= 2);
    env.run(&["undo", "2", "--yes"]).code(0);
    assert_eq!(env.read("notes.md").as_deref(), Some("buy oats\n"));
}
