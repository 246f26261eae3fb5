//! `toolcrib artifact list|show|rm`: results that were too long to show.

use serde_json::json;

use crate::support::{self, TestEnv};

/// Creates an environment with one stored result; returns its name.
fn stored() -> (TestEnv, String, String) {
    let env = TestEnv::new();
    let long: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    std::fs::write(env.root().join("long.txt"), &long).unwrap();
    env.run(&["tool", "call", "read_file", "--args", r#"{"path": "long.txt"}"#]).code(0);
    let listed = support::json(&env.run(&["artifact", "list", "--json"]).code(0).stdout);
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    let name = listed[0]["artifact"].as_str().unwrap().to_owned();
    (env, name, long)
}

#[test]
fn a_long_result_is_listed_shown_and_removed() {
    let (env, name, _) = stored();
    let cut = &name[..14];
    assert!(env.run(&["artifact", "list"]).code(0).stdout.contains(cut));
    let shown = env.run(&["artifact", "show", cut]).code(0).stdout;
    for part in [name.as_str(), "bytes ", "call ", "kept until "] {
        assert!(shown.contains(part), "no {part:?}: {shown}");
    }
    let shown = support::json(&env.run(&["artifact", "show", &name, "--json"]).code(0).stdout);
    let content = env.run(&["artifact", "show", &name, "--content"]).code(0).stdout;
    assert_eq!(shown["bytes"], json!(content.len()));
    assert!(content.contains("line 7\n"));
    let wrong = env.run(&["artifact", "show", "art_nothing"]).code(4).stderr;
    assert!(wrong.contains("there is no stored result art_nothing"), "{wrong}");
    assert!(wrong.contains(&name), "the nearest: {wrong}");
    env.run(&["artifact", "rm", cut]).code(0);
    env.run(&["artifact", "rm", cut]).code(4);
    assert!(env.run(&["artifact", "list"]).code(0).stderr.contains("no artifacts"));
}

#[test]
fn a_damaged_result_is_an_error_that_names_it() {
    let (env, name, _) = stored();
    let file = env.outside().join("home/state/toolcrib.db.artifacts").join(&name);
    std::fs::write(file, "short").unwrap();
    let said = env.run(&["artifact", "show", &name, "--content"]).code(1);
    assert_eq!(said.stdout, "");
    assert!(said.stderr.contains(&format!("the artifact {name} is damaged")), "{}", said.stderr);
}
