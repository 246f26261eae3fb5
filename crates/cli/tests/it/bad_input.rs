//! Invalid input to commands and calls: each kind has its message and its exit code, and no call
//! runs that must not.

use serde_json::{Value, json};

use crate::support::{self, FORMATS, TestEnv, ask, body, results, stream};

#[track_caller]
fn refused(args: &[&str], input: impl AsRef<[u8]>, code: i32, words: &[&str]) {
    let env = TestEnv::new();
    let ended = env.feed(args, input.as_ref()).code(code).says(words);
    assert_eq!(ended.stdout, "");
    let machine = env.feed(&[args, &["--json"]].concat(), input).code(code);
    let error = support::json(&machine.stderr);
    assert_eq!(error["exit_code"], code);
    assert!(
        ended.stderr.contains(error["error"].as_str().unwrap()),
        "{error} and {}",
        ended.stderr
    );
}

#[test]
fn a_tool_name_that_is_empty_or_unknown() {
    let env = TestEnv::new();
    let asks = [
        ask("a", "", json!({})),
        ask("b", "raed_file", json!({"path": "notes.md"})),
        ask("c", "stapler", json!({})),
        ask("d", "read_file", json!({"path": "notes.md"})),
    ];
    for format in ["openai-chat", "openai-responses", "anthropic", "gemini"] {
        let ended = env.feed(&["exec", "--format", format], body(format, &asks)).code(0);
        let got = results(format, &support::json(&ended.stdout));
        let message = |n: usize| got[n].1["message"].as_str().unwrap();
        assert_eq!(got[0].1["error_type"], "validation_error");
        assert_eq!(message(0), "The tool name is empty. Name the tool that should be called.");
        assert_eq!(got[1].1["error_type"], "tool_not_found");
        assert!(message(1).starts_with("Tool raed_file is not available. Did you mean read_file"));
        assert_eq!(
            message(2),
            "Tool stapler is not available. Use only the tools that were declared to you."
        );
        assert_eq!(got[3].1["status"], "success", "the others run");
    }
    env.run(&["tool", "call", ""]).code(1).says(&["The tool name is empty."]);
    env.run(&["tool", "call", "raed_file"]).code(4).says(&["Did you mean read_file"]);
    env.run(&["tool", "show", "raed_file"]).code(4).says(&["did you mean read_file?"]);
    env.run(&["tool", "show", "weather"]).code(4).says(&["there is no tool weather", "tool list"]);
}

#[test]
fn no_tool_call_in_the_answer() {
    let env = TestEnv::new();
    let prose = [
        ("openai-chat", json!({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}]}).to_string()),
        ("openai-responses", json!({"object": "response", "status": "completed", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}]}).to_string()),
        ("anthropic", json!({"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": [{"type": "text", "text": "Hello."}]}).to_string()),
        ("gemini", json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [{"text": "Hello."}]}}]}).to_string()),
        ("text", "Hello.".to_owned()),
    ];
    for (format, answer) in prose {
        let ended = env.feed(&["exec", "--format", format], &answer).code(0);
        assert_eq!(ended.stdout, "[]\n", "{format}");
        let said = "the response has no tool call; there is nothing to append";
        assert_eq!(ended.stderr, format!("toolcrib: {said}\n"), "{format}");
        let ended = env.feed(&["exec", "--json", "--format", format], &answer).code(0);
        assert_eq!(support::json(&ended.stderr), json!({"note": said}), "{format}");
    }
    for format in ["openai-chat", "openai-responses", "anthropic", "gemini"] {
        let ended = env.feed(&["exec", "--format", format], stream(format, &[])).code(0);
        assert_eq!(ended.stdout, "[]\n", "{format}");
    }
}

#[test]
fn a_body_of_another_provider() {
    let asks = [ask("a", "write_file", json!({"path": "x", "content": "x"}))];
    for of in FORMATS {
        for given in FORMATS.into_iter().filter(|given| *given != of) {
            for answer in [body(of, &asks), stream(of, &asks)] {
                let env = TestEnv::new();
                let ended = env.feed(&["exec", "--format", given], answer).code(2);
                let says = format!("not {given}: it looks like {of} (use --format {of})");
                assert!(ended.stderr.contains(&says), "{of} as {given}: {}", ended.stderr);
                assert_eq!((ended.stdout.as_str(), env.names()), ("", vec!["notes.md".to_owned()]));
            }
        }
    }
}

/// Cuts a recording before every event and inside every event. The last call is never complete
/// before its end, and no call runs at all unless the end of the response was received.
#[test]
fn half_a_stream() {
    for format in ["openai-chat", "openai-responses", "anthropic", "gemini"] {
        let asks = [
            ask("a", "write_file", json!({"path": "first", "content": "1"})),
            ask("b", "write_file", json!({"path": "second", "content": "2"})),
        ];
        let whole = stream(format, &asks);
        let ends: Vec<usize> = whole.match_indices("data:").map(|(at, _)| at).collect();
        let last = *ends.last().unwrap();
        // The last event of Chat is the mark [DONE], which some servers omit: the response is
        // complete before it.
        let needed = if format == "openai-chat" { ends[ends.len() - 2] } else { last };
        for (number, end) in ends.iter().enumerate().filter(|(n, _)| n % 4 == 1) {
            for cut in [*end, *end + 12].into_iter().filter(|cut| *cut <= needed) {
                let env = TestEnv::new();
                let ended = env.feed(&["exec", "--format", format], &whole[..cut]);
                assert_eq!(env.names(), ["notes.md"], "{format} cut at {cut} ran something");
                if ended.code == 2 {
                    assert!(number <= 1, "{format} cut at {cut}: {ended:#?}");
                    continue;
                }
                let ended = ended.code(1).says(&["the response was truncated"]);
                for (_, wire) in all_results(format, &ended.stdout) {
                    assert_eq!(wire["error_type"], "validation_error");
                    let text = wire["message"].as_str().unwrap();
                    assert!(text.contains("not run") && text.contains("again"), "{text}");
                }
            }
        }
    }
}

fn all_results(format: &str, stdout: &str) -> Vec<(String, Value)> {
    match support::json(stdout) {
        Value::Array(none) if none.is_empty() => Vec::new(),
        messages => results(format, &messages),
    }
}

/// The provider reports that the response ended because of its length, inside the arguments of a
/// call.
#[test]
fn a_stream_cut_inside_arguments_by_the_length_of_the_answer() {
    let cut = "{\"path\": \"second\", \"content\": \"rm -rf";
    let whole = ask("a", "write_file", json!({"path": "first", "content": "1"}));
    let half = ask("b", "write_file", json!(cut));
    let chat = stream("openai-chat", &[whole.clone(), half.clone()])
        .replace("\"finish_reason\":\"tool_calls\"", "\"finish_reason\":\"length\"");
    let claude = stream("anthropic", &[whole, half])
        .replace("\"stop_reason\":\"tool_use\"", "\"stop_reason\":\"max_tokens\"");
    for (format, text) in [("openai-chat", chat), ("anthropic", claude)] {
        let env = TestEnv::new();
        let ended = env.feed(&["exec"], text).code(0);
        let got = results(format, &support::json(&ended.stdout));
        assert_eq!(got[0].1["status"], "success");
        assert_eq!(got[1].1["error_type"], "validation_error");
        let message = got[1].1["message"].as_str().unwrap();
        assert!(
            message.contains("ended inside the arguments") && message.contains("smaller"),
            "{message}"
        );
        assert_eq!(env.names(), ["first", "notes.md"], "{format}");
    }
}

/// This applies even if the repair for other calls, adding a missing last brace, would complete the
/// arguments.
#[test]
fn arguments_that_only_lack_their_end_are_not_run_when_the_answer_was_cut() {
    let half = ask("b", "write_file", json!("{\"path\": \"second\", \"content\": \"x\""));
    let text = stream("openai-chat", &[half])
        .replace("\"finish_reason\":\"tool_calls\"", "\"finish_reason\":\"length\"");
    let env = TestEnv::new();
    let ended = env.feed(&["exec"], text).code(0);
    let got = results("openai-chat", &support::json(&ended.stdout));
    assert_eq!(got[0].1["error_type"], "validation_error");
    assert_eq!(env.names(), ["notes.md"]);
}

#[test]
fn two_calls_with_one_id() {
    for format in ["openai-chat", "openai-responses", "anthropic", "gemini"] {
        let env = TestEnv::new();
        let append = |text: &str| {
            ask("one", "write_file", json!({"path": "log", "content": text, "mode": "append"}))
        };
        let same = [append("x"), append("x")];
        let ended = env.feed(&["exec"], body(format, &same)).code(0).says(&["counts once"]);
        let got = results(format, &support::json(&ended.stdout));
        assert_eq!((got.len(), got[0].0.as_str()), (1, "one"), "{format}");
        assert_eq!(env.read("log").as_deref(), Some("x"), "{format}");

        let different = [append("y"), append("z")];
        let ended = env.feed(&["exec"], body(format, &different)).code(0);
        let ended = ended.says(&["two different calls carry the id one"]);
        let got = results(format, &support::json(&ended.stdout));
        assert_eq!(got[0].1["status"], "success", "{format}");
        assert_eq!(got[1].1["error_type"], "validation_error", "{format}");
        assert!(got[1].1["message"].as_str().unwrap().contains("Send it again"), "{format}");
        assert_eq!(env.read("log").as_deref(), Some("xy"), "{format}");
    }
}

#[test]
fn a_result_too_large_is_cut_and_kept() {
    let env = TestEnv::new();
    let text: String =
        (0..22_000).map(|n| format!("line {n} of a large file, with words in it\n")).collect();
    assert!(text.len() > 900_000 && text.len() < 1_000_000);
    env.write("large.txt", &text);
    for format in FORMATS {
        let asks = [ask("a", "read_file", json!({"path": "large.txt"}))];
        let ended = env.feed(&["exec"], body(format, &asks)).code(0);
        let (_, wire) = results(format, &support::json(&ended.stdout)).remove(0);
        let shown = wire["result"].as_str().unwrap();
        assert!(shown.chars().count() <= 20_000, "{format}: {}", shown.chars().count());
        let first = shown.lines().next().unwrap();
        assert!(
            first.starts_with("[Showing ")
                && first.replace(',', "").contains(&text.len().to_string()),
            "{first}"
        );
        assert!(
            shown.contains("line 0 of")
                && shown.ends_with("line 21999 of a large file, with words in it\n")
        );
        let reference = wire["artifact"].as_str().unwrap();
        assert!(shown.contains(&format!("read_artifact(ref=\"{reference}\"")), "{format}");

        // Another process reads the artifact, as in the next turn of a conversation.
        let args = json!({"ref": reference, "offset": 500_000, "limit": 1000});
        let (page, code) = env.call("read_artifact", &args, &[]);
        assert_eq!(code, 0, "{page}");
        let page = page["result"].as_str().unwrap();
        assert!(page.starts_with(&text[500_000..501_000]), "{page}");
        assert!(page.contains("offset 501000"), "{page}");
    }
}

#[test]
fn a_page_of_a_gateway() {
    let page = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
    for format in FORMATS {
        refused(
            &["exec", "--format", format],
            page,
            2,
            &["HTML page", "\"502 Bad Gateway\"", "proxy or gateway"],
        );
    }
}

#[test]
fn nothing_at_all() {
    for format in FORMATS {
        for input in ["", " \n\t\r\n", "\u{feff}"] {
            refused(&["exec", "--format", format], input, 2, &["empty"]);
        }
    }
    refused(&["exec"], "", 2, &["empty"]);
    refused(&["exec"], "<html><title>502 Bad Gateway</title>", 2, &["HTML page"]);
}

#[test]
fn errors_of_providers() {
    let rows = [
        (
            "openai-chat",
            json!({"error": {"message": "Incorrect API key provided.", "type": "invalid_request_error", "code": "invalid_api_key"}}),
        ),
        (
            "openai-responses",
            json!({"error": {"message": "Rate limit reached.", "type": "rate_limit_error"}}),
        ),
        (
            "anthropic",
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        ),
        (
            "gemini",
            json!({"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}),
        ),
    ];
    for (format, error) in rows {
        let message = error["error"]["message"].as_str().unwrap();
        refused(
            &["exec", "--format", format],
            error.to_string(),
            2,
            &["the provider answered with an error", message],
        );
    }
}

#[test]
fn what_is_no_answer() {
    let rows: [(&str, &[u8], &str); 7] = [
        ("openai-chat", b"{\"choices\": [", "cut off"),
        ("openai-chat", b"{}", "no `choices`"),
        ("anthropic", b"[]", "no `content`"),
        ("gemini", b"null", "cannot be read as gemini"),
        ("openai-responses", b"42", "cannot be read as"),
        ("anthropic", b"just words", "cannot be read as anthropic"),
        ("text", b"\xff\xfe\x00", "not UTF-8"),
    ];
    for (format, input, word) in rows {
        refused(&["exec", "--format", format], input, 2, &[word]);
    }
    refused(&["exec"], "{\"a\": 1}", 2, &["not recognised", "--format"]);
}

#[test]
fn big_arguments() {
    let env = TestEnv::new();
    let content = "ü\\\"".repeat(2_500_000);
    let args = json!({"path": "big.txt", "content": content});
    assert!(args.to_string().len() > 10_000_000);
    let (reply, code) = env.call("write_file", &args, &[]);
    assert_eq!(code, 0, "{reply}");
    assert!(env.read("big.txt") == Some(content), "written whole");
    let cut = &args.to_string()[..9_000_001];
    let ended = env.feed(&["tool", "call", "write_file", "--args", "-"], cut).code(1);
    assert!(ended.says(&["ends before the arguments are complete"]).stderr.len() < 4096);
}

#[test]
fn ten_thousand_levels() {
    let env = TestEnv::new();
    let deep = format!("{{\"path\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let ended = env.feed(&["tool", "call", "read_file", "--args", "-"], &deep).code(1);
    assert!(ended.says(&["levels of nesting", "flatter"]).stderr.len() < 4096);
    for format in FORMATS {
        let answer = match format {
            "openai-chat" | "openai-responses" => {
                body(format, &[ask("a", "read_file", json!(deep))])
            }
            _ => body(format, &[ask("a", "read_file", json!("DEEP"))]).replace("\"DEEP\"", &deep),
        };
        let ended = env.feed(&["exec", "--format", format], answer);
        assert!(ended.stderr.len() + ended.stdout.len() < 8192, "{format}: {ended:#?}");
        match format {
            // The pipeline decides about arguments that are text, and informs the model.
            "openai-chat" | "openai-responses" => {
                let ended = ended.code(0);
                let got = results(format, &support::json(&ended.stdout));
                assert_eq!(got[0].1["error_type"], "validation_error", "{format}");
            }
            "text" => {
                ended.code(1).says(&["none of its calls ran"]);
            }
            _ => {
                ended.code(2).says(&["cannot be read as", "recursion limit"]);
            }
        }
    }
}

#[test]
fn usage_and_set_up() {
    let env = TestEnv::new();
    let rows: [(&[&str], i32, &str); 11] = [
        (&[], 2, "Usage:"),
        (&["no-command"], 2, "unrecognized subcommand"),
        (&["exec", "--format", "cobol"], 2, "use one of openai-chat"),
        (&["exec", "--policy", "yolo"], 2, "ask-risky"),
        (&["exec", "--allow-net", "http://x"], 2, "without a scheme"),
        (&["exec", "--root", "nowhere"], 3, "root nowhere"),
        (&["exec", "--root", "notes.md"], 3, "root notes.md"),
        (&["tool", "call"], 2, "<NAME>"),
        (&["tool", "call", "read_file", "--lines"], 2, "--lines"),
        (&["tool", "spec"], 2, "--format"),
        (&["undo", "0"], 2, "0"),
    ];
    for (args, code, word) in rows {
        let ended = env.run(args).code(code).says(&[word]);
        assert_eq!(ended.stdout, "", "{args:?}");
    }
}
