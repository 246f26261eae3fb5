//! People write to the assistant over Telegram: a real daemon against a server that speaks the Bot
//! API as documented.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::telegram_server::{Deed, TOKEN, TelegramServer};
use crate::support::{self, DaemonProcess, SlowTool, TestEnv, eventually};

/// The owner, a person on the list, and a stranger.
const OWNER: i64 = 7;
const GUEST: i64 = 8;
const EVE: i64 = 666;

/// Adds the channel of the server, with these options.
#[track_caller]
fn add_channel(env: &TestEnv, telegram: &TelegramServer, more: &[&str]) {
    let url = telegram.url();
    let add = ["channel", "add", "telegram", "--base-url", &url, "--owner", "7"];
    env.feed(&[&add, more].concat(), TOKEN).code(0).prints(&["telegram", "@crib_bot"]);
}

/// A daemon with a scripted model, and a channel.
struct Chat {
    env: TestEnv,
    telegram: TelegramServer,
    daemon: DaemonProcess,
    model: String,
}

impl Chat {
    #[track_caller]
    fn start(turns: &str, channel: &[&str], serve: &[&str]) -> Self {
        Self::start_in(TestEnv::new(), turns, channel, serve)
    }

    #[track_caller]
    fn start_in(env: TestEnv, turns: &str, channel: &[&str], serve: &[&str]) -> Self {
        let telegram = TelegramServer::start();
        add_channel(&env, &telegram, channel);
        let model = env.script("chat", turns);
        let daemon = DaemonProcess::start(&env, &[&["--model", &model], serve].concat());
        Self { env, telegram, daemon, model }
    }

    #[track_caller]
    fn shown(&self, args: &[&str]) -> Value {
        support::json(&self.env.run(&[args, &["--json"]].concat()).code(0).stdout)
    }

    #[track_caller]
    fn end(self) {
        let (ended, code) = self.daemon.stop(&self.env);
        assert_eq!(code, 0, "{}", ended.stderr);
    }
}

/// A call that asks under `--policy ask-all`, and the answer after it.
const WRITES: &str = "  - calls: [{tool: write_file, args: {path: list.md, content: oats}}]\n  - say: The list is done.\n";

#[test]
fn a_message_is_answered_and_the_conversation_goes_on() {
    let turns = "  - expect: {last_user_contains: Which grain}\n    say: Oats.\n  - expect: {last_user_contains: And the price, messages: 3}\n    say: 2.40.\n";
    let chat = Chat::start(turns, &[], &[]);
    chat.telegram.writes(OWNER, "Which grain?");
    chat.telegram.says(OWNER, "Oats.");
    chat.telegram.writes(OWNER, "And the price?");
    chat.telegram.says(OWNER, "2.40.");
    let shown = chat.shown(&["channel", "show", "telegram"]);
    assert_eq!(shown["allowed"][0]["owner"], true, "{shown}");
    let conversation = shown["allowed"][0]["conversation"].as_str().unwrap();
    // It is a conversation like any other, and its runs name the person and the channel.
    let (_, runs) = chat.daemon.rest(&chat.env, "GET runs", &Value::Null);
    let runs = runs["items"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(runs.iter().all(|run| run["conversation"] == conversation), "{runs:?}");
    let log = chat.env.run(&["channel", "log", "telegram"]).code(0).stdout;
    assert!(log.contains("run ended") && !log.contains("Which grain"), "{log}");
    chat.end();
}

#[test]
fn a_stranger_is_refused_once_and_allowed_with_one_command() {
    let chat = Chat::start("  - say: Hello.\n", &[], &[]);
    for text in ["Hi", "Let me in", "/status"] {
        chat.telegram.writes(EVE, text);
    }
    chat.telegram.says(EVE, "Your id is 666");
    chat.telegram.writes(OWNER, "Hi");
    chat.telegram.says(OWNER, "Hello.");
    assert_eq!(chat.telegram.texts(EVE).len(), 1);
    let shown = chat.env.run(&["channel", "show", "telegram"]).code(0).stdout;
    assert!(shown.contains("asked to talk: 666 Ann (@ann)"), "{shown}");
    chat.env.run(&["channel", "allow", "telegram", "666"]).code(0);
    // The daemon reads the list again within seconds.
    eventually("an answer for the new person", || {
        chat.telegram.writes(EVE, "Hi again");
        std::thread::sleep(Duration::from_millis(500));
        chat.telegram.texts(EVE).iter().any(|text| text.contains("Hello."))
    });
    chat.env.run(&["channel", "allow", "telegram", "@ann"]).code(2).says(&["number of a person"]);
    chat.end();
}

#[test]
fn a_wrong_token_is_not_saved_and_no_output_has_a_token() {
    let env = TestEnv::new();
    let telegram = TelegramServer::start();
    let url = telegram.url();
    let add = ["channel", "add", "telegram", "--base-url", &url];
    let wrong = TOKEN.replace("AAH", "BBB");
    let refused = env.feed(&add, &wrong).code(5).says(&["refuses the token"]);
    assert!(!refused.stderr.contains(&wrong), "{}", refused.stderr);
    telegram.fault("getMe", 200, "{");
    env.feed(&add, TOKEN).code(1).says(&["cannot be used"]);
    telegram.set_down(true);
    let down = env.feed(&add, TOKEN).code(1).says(&["cannot be reached"]);
    assert!(!down.stderr.contains("AAHdq"), "{}", down.stderr);
    telegram.set_down(false);
    env.feed(&add, "").code(2).says(&["not a token"]);
    env.feed(&add, "a/../b").code(2).says(&["not a token"]);
    let plain = ["channel", "add", "telegram", "--base-url", "http://example.org"];
    env.feed(&plain, TOKEN).code(2).says(&["only over https"]);
    assert_eq!(env.run(&["channel", "list", "--json"]).code(0).stdout.trim(), "[]");
    add_channel(&env, &telegram, &[]);
    env.feed(&add, TOKEN).code(2).says(&["already"]);
    let file = std::fs::read_to_string(env.outside().join("home/channels.toml")).unwrap();
    assert!(!file.contains("AAHdq"), "{file}");
    env.run(&["channel", "test", "telegram"]).code(0).prints(&["works"]);
    telegram.fault(
        "getMe",
        401,
        "{\"ok\":false,\"error_code\":401,\"description\":\"Unauthorized\"}",
    );
    env.run(&["channel", "test", "telegram"]).code(5);
    env.run(&["channel", "remove", "telegram"]).code(0);
    env.run(&["channel", "show", "telegram"]).code(4).says(&["There are none"]);
}

#[test]
fn an_approval_is_decided_with_its_buttons_alone_and_once() {
    let chat = Chat::start(WRITES, &["--may-approve", "--allow", "8"], &["--policy", "ask-all"]);
    chat.telegram.writes(OWNER, "Write the list.");
    let asked = chat.telegram.says(OWNER, "asks to run write_file");
    assert_eq!(asked.buttons(), ["allow", "deny"]);
    assert!(asked.text().contains("list.md") && asked.text().contains("oats"), "{asked:?}");
    // A text is no consent.
    chat.telegram.writes(OWNER, "yes");
    chat.telegram.says(OWNER, "A text is no decision");
    // Neither is a press of another person, or of a button that was not offered.
    let foreign = chat.telegram.press(GUEST, asked.message, "allow");
    assert!(chat.telegram.acknowledges(&foreign).contains("not open"));
    let foreign = chat.telegram.press(EVE, asked.message, "allow");
    assert!(chat.telegram.acknowledges(&foreign).contains("not for you"));
    let forged = chat.telegram.press(OWNER, asked.message, "always");
    assert!(chat.telegram.acknowledges(&forged).contains("no such decision"));
    assert_eq!(chat.env.read("list.md"), None);
    let first = chat.telegram.press(OWNER, asked.message, "allow");
    let second = chat.telegram.press(OWNER, asked.message, "deny");
    assert_eq!(chat.telegram.acknowledges(&first), "Allowed once.");
    let late = chat.telegram.acknowledges(&second);
    assert!(late.contains("decided before") || late.contains("not open"), "{late}");
    chat.telegram.says(OWNER, "The list is done.");
    chat.telegram.edits(asked.message, "Allowed by telegram:7");
    assert_eq!(chat.env.read("list.md").as_deref(), Some("oats"));
    let (_, all) = chat.daemon.rest(&chat.env, "GET approvals?state=all", &Value::Null);
    assert_eq!(all["items"][0]["decision"]["decided_by"], "telegram:7", "{all}");
    assert_eq!(all["items"][0]["channel"], "message", "{all}");
    chat.end();
}

#[test]
fn without_the_right_to_approve_the_question_waits_in_the_inbox_and_is_edited() {
    let chat = Chat::start(WRITES, &[], &["--policy", "ask-all"]);
    chat.telegram.writes(OWNER, "Write the list.");
    let asked = chat.telegram.says(OWNER, "waits in the inbox");
    assert!(asked.buttons().is_empty() && !asked.text().contains("list.md"), "{asked:?}");
    let forged = chat.telegram.press(OWNER, asked.message, "allow");
    assert!(chat.telegram.acknowledges(&forged).contains("Only the owner"));
    let (_, inbox) = chat.daemon.rest(&chat.env, "GET approvals", &Value::Null);
    let question = &inbox["items"][0];
    let path = format!("POST approvals/{}", question["approval"].as_str().unwrap());
    let decision = json!({"decision": "deny", "nonce": question["nonce"]});
    assert_eq!(chat.daemon.rest(&chat.env, &path, &decision).0, 200);
    chat.telegram.edits(asked.message, "Denied by owner");
    chat.telegram.says(OWNER, "The list is done.");
    assert_eq!(chat.env.read("list.md"), None);
    chat.end();
}

#[test]
fn a_question_of_the_model_is_answered_by_a_button_or_a_text() {
    let ask = "  - calls: [{tool: ask_user, args: {question: Which list?, context: Two fit., options: [old, new]}}]\n";
    let turns = format!(
        "{ask}  - expect: {{last_user_contains: new}}\n    say: The new one.\n{ask}  - expect: {{last_user_contains: the red one}}\n    say: The red one.\n"
    );
    let chat = Chat::start(&turns, &[], &[]);
    chat.telegram.writes(OWNER, "Tidy up.");
    let asked = chat.telegram.says(OWNER, "Which list?");
    assert_eq!(asked.buttons(), ["opt0", "opt1", "skip"]);
    chat.telegram.press(OWNER, asked.message, "opt1");
    chat.telegram.says(OWNER, "The new one.");
    chat.telegram.edits(asked.message, "Answered by telegram:7");
    chat.telegram.writes(OWNER, "Once more.");
    let is_second =
        |deed: &Deed| deed.text().contains("Which list?") && deed.message > asked.message + 1;
    chat.telegram.wait_for(|deed| deed.method == "sendMessage" && is_second(deed));
    chat.telegram.writes(OWNER, "the red one");
    chat.telegram.says(OWNER, "The red one.");
    chat.end();
}

#[test]
fn a_daemon_that_is_killed_answers_each_message_once() {
    let env = TestEnv::new();
    let slow = SlowTool::new(&env);
    let turns = "  - calls: [{tool: slow, args: {}}]\n  - say: Done.\n  - say: And that.\n";
    let serve = ["--tools", "mine", "--policy", "auto"];
    let chat = Chat::start_in(env, turns, &[], &serve);
    chat.telegram.writes(OWNER, "Work.");
    slow.started();
    chat.telegram.writes(OWNER, "And this.");
    // The second message is stored before the daemon dies.
    eventually("two messages that wait", || {
        let shown = chat.shown(&["channel", "show", "telegram"]);
        shown["allowed"][0]["waiting"] == 2
    });
    let Chat { env, telegram, daemon, model } = chat;
    daemon.kill();
    let _gate = slow.go_on();
    let daemon = DaemonProcess::start(&env, &[&["--model", &model], &serve[..]].concat());
    telegram.says(OWNER, "Done.");
    telegram.says(OWNER, "And that.");
    // A third message ends after everything before it.
    telegram.writes(OWNER, "/status");
    telegram.says(OWNER, "Nothing is being worked on.");
    assert_eq!(telegram.texts(OWNER).len(), 3, "{:?}", telegram.texts(OWNER));
    let (_, runs) = daemon.rest(&env, "GET runs", &Value::Null);
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(2), "{runs}");
    let (ended, code) = daemon.stop(&env);
    assert_eq!(code, 0, "{}", ended.stderr);
}

#[test]
fn commands_stop_a_run_and_start_a_new_conversation() {
    let env = TestEnv::new();
    let slow = SlowTool::new(&env);
    let turns = "  - calls: [{tool: slow, args: {}}]\n  - say: Too late.\n";
    let chat = Chat::start_in(env, turns, &[], &["--tools", "mine", "--policy", "auto"]);
    chat.telegram.writes(OWNER, "/start");
    chat.telegram.says(OWNER, "/new starts");
    chat.telegram.writes(OWNER, "Work.");
    slow.started();
    chat.telegram.writes(OWNER, "And this.");
    chat.telegram.writes(OWNER, "/status");
    chat.telegram.says(OWNER, "is being worked on. One message waits.");
    let conversation = |chat: &Chat| {
        let shown = chat.shown(&["channel", "show", "telegram"]);
        shown["allowed"][0]["conversation"].clone()
    };
    let first = conversation(&chat);
    chat.telegram.writes(OWNER, "/stop");
    chat.telegram.says(OWNER, "Stopped.");
    chat.telegram.writes(OWNER, "/new");
    chat.telegram.says(OWNER, "A new conversation starts");
    chat.telegram.writes(OWNER, "Work again.");
    slow.started();
    let _gate = slow.go_on();
    chat.telegram.says(OWNER, "Too late.");
    assert_ne!(conversation(&chat), first);
    assert_eq!(slow.runs(), 2);
    chat.end();
}

#[test]
fn a_service_that_fails_in_every_way_loses_nothing() {
    let turns = "  - say: One.\n  - say: Two.\n  - say: Three.\n  - say: Four.\n";
    let chat = Chat::start(turns, &[], &[]);
    let refusal = |status: u16, words: &str| {
        json!({"ok": false, "error_code": status, "description": words}).to_string()
    };
    // Refused with a time to wait, then by a gateway, then cut off.
    let wait = json!({"ok": false, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 1}});
    chat.telegram.fault("sendMessage", 429, &wait.to_string());
    chat.telegram.fault("sendMessage", 502, "<html>Bad Gateway</html>");
    chat.telegram.fault("sendMessage", 200, "{\"ok\":true,");
    chat.telegram.writes(OWNER, "1");
    chat.telegram.says(OWNER, "One.");
    // Updates that cannot be read, and an update that comes twice.
    chat.telegram.raw_update(json!({"message": [1, 2]}));
    chat.telegram.raw_update(json!("nonsense"));
    chat.telegram.fault("getUpdates", 200, "[");
    chat.telegram.fault("getUpdates", 500, "");
    chat.telegram.writes(OWNER, "2");
    chat.telegram.says(OWNER, "Two.");
    let from = json!({"id": OWNER, "is_bot": false, "first_name": "Ann"});
    let chat_of = json!({"id": OWNER, "type": "private"});
    let twice = json!({"update_id": 900, "message": {"message_id": 900, "from": from, "chat": chat_of, "text": "3"}});
    chat.telegram.repeat(twice.clone());
    chat.telegram.says(OWNER, "Three.");
    chat.telegram.repeat(twice);
    // A network that is down for a while.
    chat.telegram.set_down(true);
    std::thread::sleep(Duration::from_secs(3));
    chat.telegram.set_down(false);
    let polls = chat.telegram.polls();
    eventually("the next request", || chat.telegram.polls() > polls + 1);
    chat.telegram.raw_update(json!({}));
    let long = "x".repeat(100_000);
    chat.telegram.repeat(json!({"update_id": 901, "message": {"message_id": 901, "from": from, "chat": chat_of, "text": long}}));
    chat.telegram.says(OWNER, "100000 characters");
    chat.telegram.repeat(json!({"update_id": 902, "message": {"message_id": 902, "from": from, "chat": chat_of, "voice": {"file_id": "x"}}}));
    chat.telegram.says(OWNER, "the voice message was ignored");
    assert_eq!(chat.telegram.texts(OWNER).len(), 5, "{:?}", chat.telegram.texts(OWNER));
    // Another program reads the updates: it is shown, and the next attempt works.
    chat.telegram.fault(
        "getUpdates",
        409,
        &refusal(409, "Conflict: terminated by other getUpdates request"),
    );
    let problem = || chat.shown(&["channel", "show", "telegram"])["problem"].clone();
    eventually("the problem", || {
        problem().as_str().is_some_and(|text| text.contains("another program"))
    });
    eventually("the end of the problem", || problem().is_null());
    // The person blocks the bot, and unblocks it.
    chat.telegram.fault(
        "sendMessage",
        403,
        &refusal(403, "Forbidden: bot was blocked by the user"),
    );
    chat.telegram.repeat(json!({"update_id": 903, "message": {"message_id": 903, "from": from, "chat": chat_of, "text": "4"}}));
    eventually("the lost texts in the log", || {
        let log = chat.env.run(&["channel", "log", "telegram"]).code(0).stdout;
        log.contains("texts were not delivered")
    });
    chat.end();
}

#[test]
fn a_long_answer_is_split_and_plain_text() {
    let long = "*bold* [x](http://example.org) ".repeat(400);
    let chat = Chat::start(&format!("  - say: \"{}\"\n", long.trim()), &[], &[]);
    chat.telegram.writes(OWNER, "Go on.");
    eventually("four messages", || chat.telegram.texts(OWNER).len() == 4);
    let texts = chat.telegram.texts(OWNER);
    let all: usize = texts.iter().map(|text| text.split_whitespace().count()).sum();
    assert_eq!(all, 800);
    assert!(chat.telegram.deeds().iter().all(|deed| deed.body.get("parse_mode").is_none()));
    chat.end();
}

#[test]
fn messages_of_others_are_text_from_outside_and_rules_name_the_channel() {
    let turns = "  - calls: [{tool: write_file, args: {path: a.md, content: a}}]\n  - expect: {results: [{tool: write_file, outcome: denied}]}\n    say: Not allowed.\n";
    let env = TestEnv::new();
    let rules = "[[rules]]\neffect = \"deny\"\nrule = \"write_file\"\nchannels = [\"message\"]\n";
    env.own("rules.toml", rules);
    let chat = Chat::start_in(env, turns, &["--allow", "8"], &["--policy", "auto"]);
    chat.telegram.writes(GUEST, "Write it.");
    chat.telegram.says(GUEST, "Not allowed.");
    chat.telegram.writes(OWNER, "Write it.");
    chat.telegram.says(OWNER, "Not allowed.");
    let calls = chat.shown(&["history"]);
    let channels: Vec<&Value> =
        calls.as_array().unwrap().iter().map(|call| &call["channel"]).collect();
    assert_eq!(channels, [&json!("message"), &json!("message")], "{calls}");
    // The guest's run is untrusted from its start; the owner's is not.
    let (_, runs) = chat.daemon.rest(&chat.env, "GET runs", &Value::Null);
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(2), "{runs}");
    chat.end();
}

#[test]
fn a_draft_to_somebody_leaves_when_a_person_sends_it() {
    let env = TestEnv::new();
    let telegram = TelegramServer::start();
    add_channel(&env, &telegram, &[]);
    let (made, code) = env.call("draft_message", &json!({"to": "8", "text": "I am late."}), &[]);
    assert_eq!(code, 0, "{made}");
    let draft = made["result"]["draft_id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    assert!(telegram.texts(GUEST).is_empty());
    let shown = support::json(&env.run(&["draft", "show", &draft, "--json"]).code(0).stdout);
    assert_eq!((&shown["kind"], &shown["to"][0]), (&json!("chat"), &json!("telegram:8")));
    let version = shown["version"].to_string();
    env.run(&["draft", "send", &draft, "--shown", &version]).code(0);
    assert_eq!(telegram.texts(GUEST), ["I am late."]);
    // The recipient never wrote to the bot.
    let new = ["draft", "new", "chat", "--to", "telegram:9", "--body", "Hi", "--json"];
    let second = support::json(&env.run(&new).code(0).stdout);
    let refusal =
        json!({"ok": false, "error_code": 400, "description": "Bad Request: chat not found"});
    telegram.fault("sendMessage", 400, &refusal.to_string());
    let (id, version) = (second["draft"].as_str().unwrap(), second["version"].to_string());
    env.run(&["draft", "send", id, "--shown", &version]).code(1);
    let shown = support::json(&env.run(&["draft", "show", id, "--json"]).code(0).stdout);
    assert_eq!(shown["status"], "failed", "{shown}");
    env.run(&["draft", "new", "chat", "--to", "ann", "--body", "Hi"]).code(4);
    let (refused, _) = env.call("draft_message", &json!({"to": "@ann", "text": "Hi"}), &[]);
    assert!(refused.to_string().contains("is not the id of a person"), "{refused}");
}
