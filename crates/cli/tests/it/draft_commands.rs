//! `toolcrib draft` for a person: writing, changing, reading and sending a webhook.

use serde_json::{Value, json};

use crate::support::{self, Server, TestEnv};

fn draft(env: &TestEnv, args: &[&str]) -> Value {
    support::json(&env.run(&[&["draft"], args, &["--json"]].concat()).code(0).stdout)
}

#[test]
fn a_webhook_leaves_once_in_the_version_that_was_read() {
    let (env, server) = (TestEnv::new(), Server::start());
    env.run(&["config", "set", "allow_net", &format!("[\"{}\"]", server.target())]).code(0);
    let url = server.url("/");
    let new = ["draft", "new", "webhook", "--body", "{\"state\":1}", "--to"];
    env.run(&[&new[..], &["not an address"]].concat()).code(2).says(&["has one address"]);
    let made = draft(&env, &["new", "webhook", "--to", &url, "--body", "{\"state\":1}"]);
    let id = made["draft"].as_str().unwrap();
    let seen = made["version"].to_string();
    draft(&env, &["edit", id, "--body", "{\"state\":2}"]);
    // The draft differs from the version that was read; the error shows the difference.
    env.run(&["draft", "send", id, "--shown", &seen]).code(5).says(&[
        "text:",
        "-{\"state\":1}",
        "+{\"state\":2}",
        "It is now version",
    ]);
    assert!(server.seen().is_empty(), "{:?}", server.seen());
    let now = draft(&env, &["show", id, "--since", &seen]);
    let expected = json!([{"part": "text", "diff": "-{\"state\":1}\n+{\"state\":2}"}]);
    assert_eq!(now["changed"], expected);
    let history = draft(&env, &["history", id]);
    let texts: Vec<&Value> =
        history.as_array().unwrap().iter().map(|one| &one["draft"]["body"]).collect();
    assert_eq!(texts, [&json!("{\"state\":2}"), &json!("{\"state\":1}")]);
    env.run(&["draft", "show", id, "--since", "999999"]).code(2).says(&["no version 999999"]);
    let version = now["version"].to_string();
    let sent = draft(&env, &["send", id, "--shown", &version]);
    assert_eq!(sent["status"], "sent", "{sent}");
    let seen = server.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(seen[0].starts_with("POST / ") && seen[0].contains("{\"state\":2}"), "{seen:?}");
    env.run(&["draft", "send", id, "--shown", &sent["version"].to_string()]).code(5);
    // An address outside of the policy is refused before anything is sent.
    let closed = draft(&env, &["new", "webhook", "--to", "http://127.0.0.1:9/x", "--body", "x"]);
    let id = closed["draft"].as_str().unwrap();
    let version = closed["version"].to_string();
    let failed = env.run(&["draft", "send", id, "--shown", &version, "--json"]).code(1);
    assert_eq!(support::json(&failed.stdout)["status"], "failed", "{}", failed.stdout);
}
