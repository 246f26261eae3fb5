//! `toolcrib exec`: runs the calls of a model's response, and prints the provider's messages.

use serde_json::{Value, json};

use crate::support::{self, Ask, FORMATS, Server, TestEnv, ask, body, results, stream};

/// Returns calls that read, write and fetch: the workspace and the server show the effects.
fn work(server: &Server) -> Vec<Ask> {
    vec![
        ask("call_1", "read_file", json!({"path": "notes.md"})),
        ask(
            "call_2",
            "write_file",
            json!({"path": "a/plan.md", "content": "größer, \"so\"\n{}\n"}),
        ),
        ask("call_3", "http_request", json!({"url": server.url("/status.json")})),
        ask("call_4", "read_file", json!({"path": "missing.md"})),
    ]
}

/// Returns the ids in the format: text numbers its calls.
fn ids(format: &str, asks: &[Ask]) -> Vec<String> {
    match format {
        "text" => (1..=asks.len()).map(|number| number.to_string()).collect(),
        _ => asks.iter().map(|ask| ask.id.clone()).collect(),
    }
}

#[track_caller]
fn check(format: &str, whole: bool, named: bool) {
    let (env, server) = (TestEnv::new(), Server::start());
    let asks = work(&server);
    let answer = if whole { body(format, &asks) } else { stream(format, &asks) };
    let target = server.target();
    let mut args = vec!["exec", "--json", "--allow-net", &target];
    if named {
        args.extend(["--format", format]);
    }
    let ended = env.feed(&args, answer).code(0);
    assert_eq!(ended.stderr, "", "{format}");
    assert_eq!(ended.stdout.lines().count(), 1, "{format}");
    let results = results(format, &support::json(&ended.stdout));
    let got: Vec<&str> = results.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(got, ids(format, &asks), "{format}");
    assert_eq!(results[0].1["result"], "buy oats\n");
    assert_eq!(
        (&results[0].1["trust"], &results[0].1["source"]),
        (&json!("workspace"), &json!("notes.md"))
    );
    assert_eq!(results[1].1["status"], "success");
    assert_eq!(env.read("a/plan.md").as_deref(), Some("größer, \"so\"\n{}\n"), "{format}");
    let page = results[2].1["result"].as_str().unwrap();
    assert!(page.starts_with("HTTP 200") && page.ends_with("{\"state\":\"green\"}"), "{page}");
    assert_eq!(results[2].1["trust"], "external");
    assert_eq!(server.seen(), ["GET /status.json"]);
    assert_eq!(results[3].1["error_type"], "file_not_found");
    assert_eq!(results[3].1["message"], "File not found: missing.md");
}

#[test]
fn whole_bodies_of_every_format() {
    FORMATS.iter().for_each(|format| check(format, true, true));
}

#[test]
fn recorded_streams_of_every_format() {
    FORMATS.iter().for_each(|format| check(format, false, true));
}

#[test]
fn the_format_is_found_out() {
    for format in FORMATS {
        check(format, true, false);
        check(format, false, false);
    }
}

#[test]
fn one_call_in_the_exact_form_of_each_provider() {
    let wire = json!({"status": "success", "result": "buy oats\n", "trust": "workspace", "source": "notes.md"});
    let text = wire.to_string();
    let expected = [
        json!([{"role": "tool", "tool_call_id": "id_7", "content": text}]),
        json!([{"type": "function_call_output", "call_id": "id_7", "output": text}]),
        json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "id_7",
            "content": [{"type": "text", "text": text}]}]}]),
        json!([{"role": "user", "parts": [{"functionResponse":
            {"id": "id_7", "name": "read_file", "response": wire}}]}]),
        json!([{"role": "user",
            "content": format!("<tool_result name=\"read_file\" id=\"1\">\n{text}\n</tool_result>")}]),
    ];
    let env = TestEnv::new();
    let asks = [ask("id_7", "read_file", json!({"path": "notes.md"}))];
    for (format, expected) in FORMATS.into_iter().zip(expected) {
        for answer in [body(format, &asks), stream(format, &asks)] {
            let ended = env.feed(&["exec", "--format", format], answer).code(0);
            assert_eq!(support::json(&ended.stdout), expected, "{format}");
            assert!(ended.stdout.lines().count() > 3, "indented for people: {}", ended.stdout);
        }
    }
}

#[test]
fn an_error_is_marked_where_the_provider_has_a_mark() {
    let env = TestEnv::new();
    let asks = [ask("x", "read_file", json!({"path": "no.md"}))];
    let reply = |format| {
        support::json(&env.feed(&["exec", "--format", format], body(format, &asks)).code(0).stdout)
    };
    assert_eq!(reply("anthropic")[0]["content"][0]["is_error"], true);
    let response = &reply("gemini")[0]["parts"][0]["functionResponse"]["response"];
    assert_eq!(response["error"], "File not found: no.md");
}

#[test]
fn gemini_keeps_signatures_and_does_not_invent_ids() {
    let env = TestEnv::new();
    let read = json!({"name": "read_file", "args": {"path": "notes.md"}});
    let time = json!({"name": "get_current_time", "args": {}});
    let answer = json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
        {"functionCall": read, "thoughtSignature": "c2lnbmF0dXJl"}, {"functionCall": time}]}}]});
    let ended = env.feed(&["exec", "--with-assistant"], answer.to_string()).code(0);
    let messages = support::json(&ended.stdout);
    assert_eq!(messages[0], answer["candidates"][0]["content"], "the turn goes back as it came");
    let parts = messages[1]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[0]["thoughtSignature"], "c2lnbmF0dXJl");
    assert!(parts[1].get("thoughtSignature").is_none());
    for part in parts {
        assert!(part["functionResponse"].get("id").is_none(), "{part}");
    }
}

#[test]
fn the_assistant_turn_stands_first_when_asked_for() {
    let asks = [
        ask("a", "read_file", json!({"path": "notes.md"})),
        ask("b", "write_file", json!({"path": "b.md", "content": "é"})),
    ];
    for format in FORMATS {
        let env = TestEnv::new();
        let run = |args: &[&str], answer: String| {
            let all = [&["exec", "--json", "--format", format], args].concat();
            support::json(&env.feed(&all, answer).code(0).stdout)
        };
        let plain = run(&[], body(format, &asks));
        let from_body = run(&["--with-assistant"], body(format, &asks));
        let from_stream = run(&["--with-assistant"], stream(format, &asks));
        let turn = from_body.as_array().unwrap().len() - plain.as_array().unwrap().len();
        assert_eq!(turn, if format == "openai-responses" { 2 } else { 1 }, "{format}");
        assert_eq!(from_body.as_array().unwrap()[turn..], *plain.as_array().unwrap());
        // The calls of a turn assembled from a stream equal those of a complete body.
        let calls = |messages: &Value| {
            let mut turn = messages.as_array().unwrap()[..turn].to_vec();
            if let Some(parts) = turn[0]["parts"].as_array_mut() {
                parts.retain(|part| part.get("functionCall").is_some());
            }
            if format == "openai-chat" {
                return turn[0]["tool_calls"].clone();
            }
            Value::Array(turn)
        };
        assert_eq!(calls(&from_stream), calls(&from_body), "{format}");
    }
}

const STAGES: [&str; 15] = [
    "receive", "switch", "resolve", "decode", "repeat", "guard", "assess", "gates", "budget",
    "approve", "admit", "intent", "run", "shape", "settle",
];

#[test]
fn explain_shows_all_fifteen_stages_of_a_call_that_ran() {
    let env = TestEnv::new();
    let asks = [
        ask("a", "read_file", json!({"path": "notes.md"})),
        ask("b", "delete_file", json!({"path": "notes.md"})),
    ];
    let answer = body("anthropic", &asks);
    let ended = env.feed(&["exec", "--explain"], &answer).code(0);
    let mut text = ended.stderr.lines();
    assert_eq!(text.next(), Some("toolcrib: read the response as anthropic"));
    assert!(text.next().unwrap().starts_with("read_file succeeded in "));
    for (number, stage) in STAGES.iter().enumerate() {
        let words: Vec<&str> = text.next().unwrap().split_whitespace().collect();
        assert_eq!(words[..2], [number.to_string().as_str(), stage], "{}", ended.stderr);
    }
    assert!(text.next().unwrap().starts_with("delete_file denied in "));
    assert!(ended.stderr.contains("STOPPED"), "{}", ended.stderr);

    let ended = env.feed(&["exec", "--explain", "--json"], &answer).code(0);
    let traces = support::lines(&ended.stderr);
    assert_eq!(traces.len(), 2);
    let names = |trace: &Value| -> Vec<String> {
        let stages = trace["report"]["stages"].as_array().unwrap();
        stages.iter().map(|record| record["stage"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&traces[0]), STAGES);
    assert_eq!(traces[0]["provider_id"], "a");
    assert_eq!(traces[0]["outcome"], "succeeded");
    assert!(traces[0]["report"]["stages"].as_array().unwrap().iter().all(|s| s["nanos"].is_u64()));
    assert_eq!(traces[1]["error_type"], "approval_denied");
    assert!(!names(&traces[1]).contains(&"run".to_owned()), "{}", traces[1]);
}

#[test]
fn repaired_arguments_run_and_the_model_is_told() {
    let env = TestEnv::new();
    let asks = [
        ask("a", "read_file", json!("```json\n{'path': 'notes.md', 'offset': \"1\",}\n```")),
        ask("b", "get_current_time", json!("")),
    ];
    for format in ["openai-chat", "openai-responses"] {
        let ended = env.feed(&["exec", "--format", format], stream(format, &asks)).code(0);
        let results = results(format, &support::json(&ended.stdout));
        assert!(results[0].1["result"].as_str().unwrap().starts_with("buy oats"), "{results:?}");
        assert!(results[0].1["notes"].as_array().unwrap().len() >= 2, "{results:?}");
        assert_eq!(results[1].1["status"], "success");
        assert!(results[1].1.get("notes").is_none(), "empty arguments are none: {results:?}");
    }
}

#[test]
fn a_hostile_page_arrives_harmless() {
    let (env, server) = (TestEnv::new(), Server::start());
    let asks = [ask("a", "fetch_url", json!({"url": server.url("/page.html")}))];
    let ended =
        env.feed(&["exec", "--allow-net", &server.target()], body("anthropic", &asks)).code(0);
    let (_, wire) = results("anthropic", &support::json(&ended.stdout)).remove(0);
    let text = wire["result"].as_str().unwrap();
    assert!(text.contains("They cost **2.40**."), "{text}");
    assert!(!text.contains("steal()") && !text.contains("<|endoftext|>"), "{text}");
    assert!(wire["neutralised"].as_array().is_some_and(|changes| !changes.is_empty()), "{wire}");
}

#[test]
fn a_redirect_to_a_closed_address_is_refused() {
    let (env, server) = (TestEnv::new(), Server::start());
    let asks = [ask("a", "fetch_url", json!({"url": server.url("/away")}))];
    let ended = env.feed(&["exec", "--allow-net", &server.target()], body("gemini", &asks)).code(0);
    let (_, wire) = results("gemini", &support::json(&ended.stdout)).remove(0);
    assert_eq!(wire["error_type"], "policy_denied");
    assert!(wire["message"].as_str().unwrap().contains("169.254.169.254"), "{wire}");
    assert_eq!(server.seen(), ["GET /away"]);
}

#[test]
fn many_calls_keep_their_order() {
    let env = TestEnv::new();
    let asks: Vec<Ask> = (0..40)
        .map(|n| {
            ask(
                &format!("c{n}"),
                "write_file",
                json!({"path": format!("f{n}"), "content": n.to_string()}),
            )
        })
        .collect();
    let ended = env.feed(&["exec"], stream("openai-chat", &asks)).code(0);
    let results = results("openai-chat", &support::json(&ended.stdout));
    for (n, (id, wire)) in results.iter().enumerate() {
        assert_eq!((id.clone(), &wire["status"]), (format!("c{n}"), &json!("success")));
        assert_eq!(env.read(&format!("f{n}")), Some(n.to_string()));
    }
    assert_eq!(results.len(), 40);
}

#[test]
fn a_reader_of_the_trace_that_goes_away_changes_nothing() {
    let env = TestEnv::new();
    let asks = [ask("a", "write_file", json!({"path": "b.md", "content": "x"}))];
    let mut command = env.command(&["exec", "--explain"]);
    // The pipe has no reader: its other end is closed before the command writes.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command.stderr(writer);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, body("openai-chat", &asks).as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let messages = support::json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(results("openai-chat", &messages)[0].1["status"], "success");
}
