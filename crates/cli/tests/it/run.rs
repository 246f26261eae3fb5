//! `toolcrib run`: the complete loop, as a person or a script starts it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{self, Provider, Reply, TestEnv, ask, end, of_type, stream};

/// Two rounds: the model reads a file, and answers.
const READS: &str = r#"
  - expect: {tools_include: [read_file, ask_user], messages: 1, last_user_contains: Do it}
    say: Let me look.
    usage: {input: 100, output: 10}
    calls: [{tool: read_file, args: {path: notes.md}}]
  - expect: {results: [{tool: read_file, outcome: succeeded, contains: buy oats}]}
    say: You want oats.
    usage: {input: 120, output: 5}
"#;

const DELETES: &str = r#"
  - calls: [{tool: delete_file, args: {path: notes.md}}]
  - say: I am done.
"#;

#[test]
fn the_answer_goes_to_standard_output_and_the_way_to_it_to_standard_error() {
    let env = TestEnv::new();
    let ended = env.play(READS, &[]).code(0);
    assert_eq!(ended.stdout, "You want oats.\n");
    ended.says(&["the scripted model script.yaml replays a file", "read_file … done"]);
}

#[test]
fn the_task_may_come_from_standard_input() {
    let env = TestEnv::new();
    let model = env.script("script", READS);
    for args in [&["run", "--model", &model][..], &["run", "--model", &model, "-"]] {
        assert_eq!(env.feed(args, "Please. Do it\n").code(0).stdout, "You want oats.\n");
        env.feed(args, " \n").code(2).says(&["the task is empty"]);
        env.feed(args, [0xff, 0xfe]).code(2).says(&["not UTF-8"]);
    }
}

/// Returns the members of each event in docs/events.md; of `tool` events, by state.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = include_str!("../../../../docs/events.md");
    let mut members: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut event, mut state) = (String::new(), String::new());
    for line in page.lines() {
        let quoted = |text: &str| text.split('`').nth(1).unwrap_or_default().to_owned();
        if line.starts_with("## ") {
            (event, state) = (quoted(line), String::new());
        } else if line.starts_with("### ") {
            event.clear();
        } else if let Some(rest) = line.strip_prefix("`state` = ") {
            state = quoted(rest);
        } else if line.starts_with("| `") && !event.is_empty() {
            let key = format!("{event}{state}");
            members.entry(key).or_default().insert(quoted(line));
        } else if line.starts_with("`waits_for`") {
            event.clear();
        }
    }
    members
}

#[track_caller]
fn check_documented(events: &[Value]) {
    let members = documented();
    for event in events {
        let kind = event["type"].as_str().unwrap();
        let state = event["state"].as_str().unwrap_or_default();
        let mut known = members.get(kind).cloned().unwrap_or_default();
        known.extend(members.get(&format!("{kind}{state}")).cloned().unwrap_or_default());
        assert!(!known.is_empty(), "{kind} {state} is not documented");
        for key in event.as_object().unwrap().keys().filter(|key| *key != "type" && *key != "state")
        {
            assert!(known.contains(key), "{key} of {kind} {state} is not documented: {event}");
        }
    }
}

#[test]
fn json_lines_are_the_documented_events() {
    let env = TestEnv::new();
    let ended = env.play(READS, &["--json"]).code(0);
    assert_eq!(ended.stderr, "");
    let mut events = support::lines(&ended.stdout);
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[1], kinds[kinds.len() - 1]), ("run-start", "request", "run-end"));
    let start = &events[0];
    assert_eq!((&start["scripted"], &start["resumed"]), (&json!(true), &json!(false)));
    assert_eq!(start["agent"], "general-assistant");
    let states: Vec<&Value> = of_type(&events, "tool").iter().map(|e| &e["state"]).collect();
    let last: Vec<&Value> = states[states.len() - 2..].to_vec();
    assert_eq!(last, ["input-available", "output-available"]);
    let streamed: String = of_type(&events, "text-delta")
        .iter()
        .map(|event| event["text"].as_str().unwrap())
        .collect();
    assert_eq!(streamed, "Let me look.You want oats.");
    let over = &events[events.len() - 1];
    assert_eq!((&over["status"], &over["text"]), (&json!("completed"), &json!("You want oats.")));
    assert_eq!((&over["rounds"], &over["calls"]), (&json!(1), &json!(1)));
    assert_eq!(over["usage"], json!({"input": 220, "output": 15}));

    // Further kinds of events: a question, an approval, a failure, a denial.
    let more = r#"
  - think: Hm.
    calls:
      - {tool: read_file, args: {path: nothing.md}}
      - {tool: delete_file, args: {path: notes.md}}
  - calls: [{tool: ask_user, args: {question: Which?}}]
"#;
    let ended = env.play(more, &["--json", "--on-ask", "deny"]).code(6);
    events.extend(support::lines(&ended.stdout));
    let ended = env.play(more, &["--json", "--on-ask", "fail"]).code(6);
    events.extend(support::lines(&ended.stdout));
    let paused = of_type(&events, "run-paused");
    let status: Vec<&Value> = paused.iter().map(|event| &event["status"]).collect();
    assert_eq!(status, ["clarification_needed", "approval_needed"]);
    for state in ["output-error", "output-denied", "approval-requested"] {
        assert!(events.iter().any(|event| event["state"] == state), "{state}");
    }
    check_documented(&events);
}

#[test]
fn without_streaming_there_are_no_pieces() {
    let env = TestEnv::new();
    let events = support::lines(&env.play(READS, &["--json", "--no-stream"]).code(0).stdout);
    assert!(of_type(&events, "text-delta").is_empty());
    assert_eq!(of_type(&events, "answer").len(), 2);
}

#[test]
fn exit_codes() {
    let fails = |kind: &str| format!("\n  - fail: {{kind: {kind}, message: no}}\n");
    let two_calls = "\n  - calls: [{tool: get_current_time, args: {}}]\n  - calls: [{tool: read_file, args: {path: notes.md}}]\n  - say: Never said.\n";
    let rows: [(&str, &[&str], i32, &[&str]); 12] = [
        (READS, &[], 0, &[]),
        (&fails("unavailable"), &[], 1, &["no"]),
        (&fails("context_exceeded"), &[], 1, &[]),
        ("\n  - {say: I cannot., stop: refused}\n", &[], 1, &["refused"]),
        (
            "\n  - expect: {last_user_contains: nobody says this}\n    say: x\n",
            &[],
            1,
            &["turn 1 of the script"],
        ),
        (READS, &["--max-rounds", "0"], 2, &["--max-rounds"]),
        (READS, &["--on-ask", "perhaps"], 2, &["deny, fail, wait:DURATION"]),
        (&fails("bad_key"), &[], 3, &["no"]),
        (&fails("unknown_model"), &[], 3, &["no"]),
        (DELETES, &["--on-ask", "wait:100ms"], 6, &["delete_file … expired"]),
        (two_calls, &["--max-calls", "1"], 7, &["calls"]),
        (two_calls, &["--max-tokens", "50"], 7, &["tokens"]),
    ];
    for (turns, more, code, words) in rows {
        TestEnv::new().play(turns, more).code(code).says(words);
    }
}

#[test]
fn a_call_without_approvers_is_denied_at_once_and_the_exit_code_tells() {
    let env = TestEnv::new();
    for more in [&[][..], &["--on-ask", "deny"]] {
        let ended = env.play(DELETES, more).code(5);
        assert_eq!(ended.stdout, "I am done.\n");
        ended.says(&["delete_file … denied"]);
        assert!(env.read("notes.md").is_some());
    }
    let ended = env.play(DELETES, &["--policy", "auto"]).code(0);
    ended.says(&["delete_file … done"]);
    assert!(env.read("notes.md").is_none());
}

/// Regression: the answer was lost, the calls had no record, and messages to the model were
/// printed.
#[test]
fn a_budget_of_tokens_ends_with_an_answer_and_a_record_of_each_call() {
    let env = TestEnv::new();
    let turns = r#"
  - calls: [{tool: delete_file, args: {path: notes.md}}]
    usage: {input: 500, output: 5}
  - expect: {no_tools: true}
    say: That is all I know.
"#;
    let ended = env.play(turns, &["--max-tokens", "50"]).code(7);
    assert_eq!(ended.stdout, "That is all I know.\n");
    assert!(!ended.stderr.contains("Please respond"), "{ended:?}");
    assert!(!ended.stderr.contains("Answer with what you have"), "{ended:?}");
    assert!(env.read("notes.md").is_some());
    let history = support::json(&env.run(&["history", "--json"]).code(0).stdout);
    assert!(history.to_string().contains("budget_exceeded"), "{history}");
}

#[test]
fn rounds_end_with_an_answer_without_tools() {
    let env = TestEnv::new();
    let turns = r#"
  - calls: [{tool: get_current_time, args: {}}]
  - expect: {no_tools: true}
    say: That is all I know.
"#;
    let ended = env.play(turns, &["--max-rounds", "1"]).code(0);
    assert_eq!(ended.stdout, "That is all I know.\n");
}

#[test]
fn a_conversation_goes_on() {
    let env = TestEnv::new();
    let first = support::lines(&env.play(READS, &["--json"]).code(0).stdout);
    let id = first[0]["conversation"].as_str().unwrap();
    let turns = "\n  - expect: {messages: 4, last_user_contains: Do it}\n    say: Again.\n";
    let model = env.script("second", turns);
    let ended = env.run(&["run", "--model", &model, "--conversation", id, "Do it"]).code(0);
    assert_eq!(ended.stdout, "Again.\n");
    env.run(&["run", "--model", &model, "--conversation", "nonsense", "x"]).code(2);
}

/// An interrupted run keeps its text, and its exit code reports the interruption.
#[cfg(unix)]
#[test]
fn ctrl_c_stops_a_run() {
    let env = TestEnv::new();
    let turns = "\n  - calls: [{tool: get_current_time, args: {}}]\n  - {say: Too late., delay_ms: 60000}\n";
    let model = env.script("slow", turns);
    let mut child = env.command(&["run", "--json", "--model", &model, "Do it"]).spawn().unwrap();
    drop(child.stdin.take());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut events = Vec::new();
    while of_type(&events, "request").len() < 2 {
        events.push(support::json(&lines.next().unwrap().unwrap()));
    }
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(told.success());
    let rest: Vec<Value> = lines.map(|line| support::json(&line.unwrap())).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let over = rest.last().unwrap();
    assert_eq!((&over["type"], &over["status"]), (&json!("run-end"), &json!("stopped")));
}

/// The same loop over HTTP: the request, its key, and the output; the key is never shown.
#[test]
fn a_server_of_ones_own_is_driven_from_nothing() {
    let asks = [ask("call_7", "read_file", json!({"path": "notes.md"}))];
    for streams in [false, true] {
        let first = if streams {
            Reply::stream(stream("openai-chat", &asks))
        } else {
            Reply::calls("read_file", &json!({"path": "notes.md"}))
        };
        let provider = Provider::start(vec![first, Reply::says("You want oats.")], Value::Null);
        let env = TestEnv::new();
        env.own(
            "config.toml",
            "[providers.mine]\nkind = \"openai-compatible\"\nkey_env = \"MINE\"\n",
        );
        let url = provider.url();
        let mut args = vec!["run", "--provider", "mine", "--base-url", &url, "--model", "m"];
        args.extend(if streams { &[][..] } else { &["--no-stream"] });
        args.extend(["--json", "What do I want?"]);
        let mut command = env.command(&args);
        command.env("MINE", "sk-secret-0123456789");
        let ended = end(command, b"").code(0);
        assert!(!ended.stdout.contains("sk-secret") && !ended.stderr.contains("sk-secret"));
        let events = support::lines(&ended.stdout);
        check_documented(&events);
        assert_eq!(events.last().unwrap()["text"], "You want oats.");
        let asked = provider.asked();
        assert_eq!(asked.len(), 2, "{asked:?}");
        assert_eq!(asked[0].path, "/v1/chat/completions");
        assert_eq!(asked[0].authorization, "Bearer sk-secret-0123456789");
        assert_eq!(asked[0].body["stream"].as_bool().unwrap_or(false), streams);
        let messages = asked[1].body["messages"].as_array().unwrap();
        let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool"]);
        assert!(messages[3]["content"].as_str().unwrap().contains("buy oats"), "{}", messages[3]);
        assert_eq!(messages[3]["tool_call_id"], messages[2]["tool_calls"][0]["id"]);
    }
}

#[test]
fn the_workspace_that_is_named_is_where_files_are() {
    let env = TestEnv::new();
    env.write("inner/notes.md", "buy bread\n");
    env.write("inner/AGENTS.md", "Always answer in rhymes.");
    let turns = r#"
  - expect: {system_contains: Always answer in rhymes.}
    calls: [{tool: read_file, args: {path: notes.md}}]
  - expect: {results: [{tool: read_file, outcome: succeeded, contains: buy bread}]}
    say: Bread.
"#;
    assert_eq!(env.play(turns, &["--workspace", "inner"]).code(0).stdout, "Bread.\n");
    env.play(turns, &["--workspace", "nowhere"]).code(3).says(&["nowhere"]);
}

#[test]
fn the_tour_needs_only_its_file() {
    let env = TestEnv::new();
    let tour = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tour.yaml");
    let model = format!("scripted:{tour}");
    env.run(&["run", "--on-ask", "fail", "--model", &model, "Keep my list"]).code(6);
    env.run(&["resume", "--on-ask", "fail", "--approve"]).code(6);
    let ended = env.run(&["resume", "--answer", "Saturday"]).code(0);
    assert!(ended.stdout.contains("oats, apples and bread"), "{}", ended.stdout);
    assert_eq!(env.read("tour/shopping.md").unwrap(), "# Shopping\n\n- oats\n- apples\n- bread\n");
}

/// Regression: Toolcrib assumed a window of 128,000 tokens while Ollama kept 16,384 and dropped the
/// beginning.
#[test]
fn ollama_keeps_the_window_that_is_configured() {
    let answer = json!({"message": {"role": "assistant", "content": "Yes."}, "done": true, "done_reason": "stop"});
    for (models, window) in [("", 16_384), ("[models.\"box/*\"]\nwindow = 9000\n", 9_000)] {
        let provider = Provider::start(vec![Reply::json(200, &answer)], Value::Null);
        let env = TestEnv::new();
        let url = provider.url();
        let url = url.trim_end_matches("/v1");
        let section = format!("[providers.box]\nkind = \"ollama\"\nbase_url = \"{url}\"\n");
        env.own("config.toml", &format!("{section}{models}"));
        let args = ["run", "--provider", "box", "--model", "m", "--no-stream", "--json", "Well?"];
        let ended = env.run(&args).code(0);
        assert_eq!(support::lines(&ended.stdout).last().unwrap()["text"], "Yes.");
        let asked = provider.asked();
        assert_eq!(asked[0].path, "/api/chat");
        assert_eq!(asked[0].body["options"]["num_ctx"], window, "{models}");
    }
}
