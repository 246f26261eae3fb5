//! `toolcrib mail` and `toolcrib draft` without an account: each reports the missing account and
//! the next step. Mail itself is tested with a real server in `crates/mail`.

use serde_json::json;

use crate::support::{self, TestEnv};

#[test]
fn without_an_account_everything_says_how_to_add_one() {
    let env = TestEnv::new();
    env.run(&["mail", "list"]).code(0).says(&["no mail accounts", "mail add ADDRESS"]);
    assert_eq!(support::json(&env.run(&["mail", "list", "--json"]).code(0).stdout), json!([]));
    for command in ["test", "rm"] {
        env.run(&["mail", command, "ann"]).code(4).says(&["no mail account \"ann\""]);
    }
    env.run(&["tool", "why", "check_email"]).prints(&["`toolcrib mail add ADDRESS` sets up"]);
    let (reply, code) = env.call(
        "compose_email",
        &json!({"to": "bob@example.org", "subject": "s", "body": "b"}),
        &[],
    );
    assert_eq!((reply["error_type"].as_str(), code), (Some("not_configured"), 3), "{reply}");
}

#[test]
fn a_draft_that_does_not_exist_is_said_to_be_missing() {
    let env = TestEnv::new();
    env.run(&["draft", "list"]).code(0).says(&["no drafts"]);
    let list = support::json(&env.run(&["draft", "list", "--json"]).code(0).stdout);
    assert_eq!(list, json!([]));
    for command in [&["show"][..], &["send", "--shown", "1"], &["discard"]] {
        env.run(&[&["draft"], command, &["nosuch"]].concat())
            .code(4)
            .says(&["there is no draft nosuch", "draft list"]);
    }
}
