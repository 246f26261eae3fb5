//! People write to the assistant over Matrix: a real daemon against a server that speaks the
//! client-server API as documented.

use serde_json::{Value, json};

use crate::support::matrix_server::{MatrixServer, TOKEN};
use crate::support::{self, DaemonProcess, TestEnv, eventually};

const ANN: &str = "@ann:x.org";
const EVE: &str = "@eve:x.org";
const ROOM: &str = "!room:x.org";

/// Adds the channel of the server, with these options.
#[track_caller]
fn add_channel(env: &TestEnv, matrix: &MatrixServer, more: &[&str]) {
    let url = matrix.url();
    let add = ["channel", "add", "matrix", "--base-url", &url, "--owner", ANN];
    env.feed(&[&add, more].concat(), TOKEN).code(0).prints(&["@crib:x.org"]);
}

#[track_caller]
fn start(turns: &str, channel: &[&str], serve: &[&str]) -> (TestEnv, MatrixServer, DaemonProcess) {
    let (env, matrix) = (TestEnv::new(), MatrixServer::start());
    add_channel(&env, &matrix, channel);
    let model = env.script("chat", turns);
    let daemon = DaemonProcess::start(&env, &[&["--model", &model], serve].concat());
    matrix.invites(ANN, ROOM);
    eventually("the room", || matrix.joined().contains(&ROOM.to_owned()));
    (env, matrix, daemon)
}

#[test]
fn a_message_in_a_room_of_the_owner_is_answered_once() {
    let turns = "  - expect: {last_user_contains: Which grain}\n    say: Oats.\n  - say: Rye.\n";
    let (env, matrix, daemon) = start(turns, &[], &[]);
    // The answer arrives, but the server's response does not: it is sent again, and known.
    matrix.lose_answer();
    matrix.fault("/sync", 429, "{\"errcode\":\"M_LIMIT_EXCEEDED\",\"retry_after_ms\":600}");
    matrix.writes(ANN, ROOM, "Which grain?");
    matrix.says(ROOM, "Oats.");
    // Rooms of others are not joined, and their people are not answered.
    matrix.invites(EVE, "!eve:x.org");
    assert!(matrix.rejection("!eve:x.org").contains("Your id is @eve:x.org"));
    matrix.event(ANN, ROOM, "m.room.message", json!({"msgtype": "m.image", "body": "a.png"}));
    matrix.says(ROOM, "the image was ignored");
    assert_eq!(matrix.joined(), [ROOM]);
    let show = ["channel", "show", "matrix", "--json"];
    let shown = support::json(&env.run(&show).code(0).stdout);
    assert_eq!(shown["asked_to_talk"][0]["user"], EVE, "{shown}");
    // A second daemon process goes on where the first was killed.
    daemon.kill();
    matrix.writes(ANN, ROOM, "And another?");
    let model = env.script("chat", turns);
    let daemon = DaemonProcess::start(&env, &["--model", &model]);
    matrix.says(ROOM, "Rye.");
    let answers = matrix.sent().into_iter().filter(|event| event.text() == "Oats.").count();
    assert_eq!(answers, 1);
    assert_eq!(daemon.stop(&env).1, 0);
}

#[test]
fn an_approval_is_decided_by_a_reaction() {
    let turns = "  - calls: [{tool: write_file, args: {path: list.md, content: oats}}]\n  - say: The list is done.\n";
    let (env, matrix, daemon) = start(turns, &["--may-approve"], &["--policy", "ask-all"]);
    matrix.writes(ANN, ROOM, "Write the list.");
    let asked = matrix.says(ROOM, "asks to run write_file");
    assert!(asked.text().contains("✅ Allow once"), "{}", asked.text());
    matrix.reacts(EVE, ROOM, &asked.id, "✅");
    matrix.reacts(ANN, ROOM, &asked.id, "👍");
    matrix.writes(ANN, ROOM, "yes");
    matrix.says(ROOM, "A text is no decision");
    assert_eq!(env.read("list.md"), None);
    matrix.reacts(ANN, ROOM, &asked.id, "✅");
    matrix.says(ROOM, "The list is done.");
    let edit = matrix.wait_for(|event| event.text().contains("Allowed by matrix:@ann:x.org"));
    assert_eq!(edit.content["m.relates_to"]["event_id"], json!(asked.id));
    assert_eq!(env.read("list.md").as_deref(), Some("oats"));
    let (_, all) = daemon.rest(&env, "GET approvals?state=all", &Value::Null);
    assert_eq!(all["items"][0]["decision"]["decided_by"], "matrix:@ann:x.org", "{all}");
    assert_eq!(daemon.stop(&env).1, 0);
}

#[test]
fn encrypted_and_shared_rooms_are_not_answered_and_it_says_so_once() {
    let (env, matrix, daemon) = start("  - say: Never.\n", &[], &[]);
    let other = "!other:x.org";
    matrix.set_members(other, 3);
    // Each notice goes to its room.
    for _ in 0..2 {
        matrix.event(ANN, ROOM, "m.room.encrypted", json!({"algorithm": "m.megolm.v1.aes-sha2"}));
        matrix.writes(ANN, other, "Hello all");
    }
    matrix.says(ROOM, "end-to-end encrypted");
    matrix.says(other, "Others are in this room");
    matrix.writes(ANN, ROOM, "/status");
    matrix.says(ROOM, "Nothing is being worked on.");
    let count = |words: &str| matrix.sent().iter().filter(|one| one.text().contains(words)).count();
    assert_eq!((count("encrypted"), count("Others are"), count("Never")), (1, 1, 0));
    assert_eq!(daemon.stop(&env).1, 0);
}

/// The question is asked in a private room; a third person joins it before the answer is there.
#[test]
fn an_answer_is_not_sent_to_a_room_that_others_have_joined() {
    let turns = "  - calls: [{tool: write_file, args: {path: list.md, content: oats}}]\n  - say: The list is done.\n";
    let (env, matrix, daemon) = start(turns, &["--may-approve"], &["--policy", "ask-all"]);
    matrix.writes(ANN, ROOM, "Write the list.");
    matrix.says(ROOM, "asks to run write_file");
    matrix.set_members(ROOM, 3);
    matrix.event(EVE, ROOM, "m.room.member", json!({"membership": "join"}));
    // The home server answers `/sync` before the decision is made.
    matrix.writes(ANN, ROOM, "Hello?");
    matrix.says(ROOM, "Others are in this room");
    let (_, inbox) = daemon.rest(&env, "GET approvals", &Value::Null);
    let question = &inbox["items"][0];
    let path = format!("POST approvals/{}", question["approval"].as_str().unwrap());
    let decision = json!({"decision": "approve", "nonce": question["nonce"]});
    assert_eq!(daemon.rest(&env, &path, &decision).0, 200);
    let log = ["channel", "log", "matrix"];
    eventually("the answer in the log", || {
        env.run(&log).code(0).stdout.contains("others are in this room")
    });
    assert_eq!(env.read("list.md").as_deref(), Some("oats"));
    assert!(matrix.sent().iter().all(|one| !one.text().contains("The list is done")));
    assert_eq!(daemon.stop(&env).1, 0);
}

#[test]
fn a_wrong_token_is_not_saved_and_a_draft_opens_one_direct_room() {
    let (env, matrix) = (TestEnv::new(), MatrixServer::start());
    let url = matrix.url();
    let add = ["channel", "add", "matrix", "--base-url", &url];
    env.feed(&add, "syt_wrong").code(5).says(&["refuses the token"]);
    env.feed(&["channel", "add", "matrix"], TOKEN).code(2).says(&["--base-url"]);
    assert_eq!(env.run(&["channel", "list", "--json"]).code(0).stdout.trim(), "[]");
    add_channel(&env, &matrix, &[]);
    for text in ["Hi", "Bye"] {
        let new = ["draft", "new", "chat", "--to", "matrix:@bob:x.org", "--body", text, "--json"];
        let made = support::json(&env.run(&new).code(0).stdout);
        let (id, version) = (made["draft"].as_str().unwrap(), made["version"].to_string());
        env.run(&["draft", "send", id, "--shown", &version]).code(0);
    }
    let texts: Vec<_> = matrix.sent().iter().map(|one| one.text().to_owned()).collect();
    assert_eq!((texts, matrix.created()), (vec!["Hi".to_owned(), "Bye".to_owned()], 1));
}
