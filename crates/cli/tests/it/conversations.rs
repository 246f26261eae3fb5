//! `toolcrib conversation list|show|delete|restore`.

use serde_json::Value;

use crate::support::{self, TestEnv};

fn list(env: &TestEnv) -> Vec<Value> {
    let listed = env.run(&["conversation", "list", "--json"]).code(0).stdout;
    support::json(&listed).as_array().cloned().unwrap()
}

#[test]
fn a_conversation_is_listed_shown_and_deleted_and_its_calls_stay() {
    let env = TestEnv::new();
    assert!(env.run(&["conversation", "list"]).code(0).stderr.contains("no conversations yet"));
    env.write("notes.md", "milk");
    env.play("  - calls: [{tool: read_file, args: {path: notes.md}}]\n  - say: Milk.\n", &[])
        .code(0);
    env.play("  - say: Two.\n", &[]).code(0);
    let all = list(&env);
    assert_eq!(all.len(), 2, "{all:?}");
    let id = all[1]["id"].as_str().unwrap();
    let people = env.run(&["conversation", "list"]).code(0).stdout;
    assert_eq!(people.lines().count(), 3, "{people}");
    let shown = env.run(&["conversation", "show", id]).code(0).stdout;
    for words in ["you\nDo it\n", "[called read_file]", "Milk."] {
        assert!(shown.contains(words), "no {words:?}: {shown}");
    }
    let shown = support::json(&env.run(&["conversation", "show", id, "--json"]).code(0).stdout);
    assert_eq!(shown["messages"].as_array().map(Vec::len), Some(3), "{shown}");
    env.run(&["conversation", "delete", id]).code(0);
    let left = list(&env);
    assert_eq!((left.len(), &left[0]["id"]), (1, &all[0]["id"]));
    env.run(&["conversation", "show", id]).code(4);
    let wrong = env.run(&["conversation", "delete", id]).code(4).stderr;
    assert!(wrong.contains(all[0]["id"].as_str().unwrap()), "the nearest: {wrong}");
    assert!(env.run(&["history"]).code(0).stdout.contains("read_file"));
    let audit = env.run(&["audit", "tail", "--json"]).code(0).stdout;
    assert!(audit.contains("conversation.remove") && audit.contains(id), "{audit}");
}

#[test]
fn a_conversation_whose_run_waits_stays() {
    let env = TestEnv::new();
    env.write("notes.md", "milk");
    let turns = "  - calls: [{tool: delete_file, args: {path: notes.md}}]\n  - say: Done.\n";
    env.play(turns, &["--on-ask", "fail"]).code(6);
    let id = list(&env)[0]["id"].as_str().unwrap().to_owned();
    let said = env.run(&["conversation", "delete", &id]).code(2).stderr;
    assert!(said.contains("toolcrib resume run_"), "{said}");
    assert_eq!(list(&env).len(), 1);
}

#[test]
fn a_deleted_conversation_is_listed_and_restored_with_its_messages() {
    let env = TestEnv::new();
    env.play("  - say: Milk.\n", &[]).code(0);
    let id = list(&env)[0]["id"].as_str().unwrap().to_owned();
    let said = env.run(&["conversation", "delete", &id]).code(0).stderr;
    assert!(said.contains(&format!("toolcrib conversation restore {id}")), "{said}");
    let deleted = env.run(&["conversation", "list", "--deleted", "--json"]).code(0).stdout;
    let deleted = support::json(&deleted);
    assert_eq!(deleted[0]["id"], id.as_str());
    assert!(deleted[0]["deleted_at"].is_i64(), "{deleted}");
    let people = env.run(&["conversation", "list", "--deleted"]).code(0).stdout;
    assert!(people.contains("DELETED"), "{people}");
    env.run(&["conversation", "restore", &id]).code(0);
    assert!(env.run(&["conversation", "show", &id]).code(0).stdout.contains("Milk."));
    env.run(&["conversation", "restore", &id]).code(4);
    env.run(&["conversation", "delete", &id, "--forever"]).code(0);
    env.run(&["conversation", "restore", &id]).code(4);
    let none = env.run(&["conversation", "list", "--deleted"]).code(0).stderr;
    assert!(none.contains("no deleted conversations"), "{none}");
}
