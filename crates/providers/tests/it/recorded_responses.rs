//! Tests of recorded answers: the calls that the parser finds in them.

use serde_json::json;
use toolcrib_providers::{CallKind, Format, Stop, detect, parse};

use super::support::{fixture, show, turn};

const CHAT: Format = Format::OpenAiChat;
const RESPONSES: Format = Format::OpenAiResponses;
const ANTHROPIC: Format = Format::Anthropic;
const GEMINI: Format = Format::Gemini;
const TEXT: Format = Format::Text;

fn check(format: Format, file: &str, stop: Stop, complete: bool, text: &str, calls: &[&str]) {
    let turn = turn(format, file);
    let name = format!("{format}/{file}: {:?}", turn.notes);
    assert_eq!(show(&turn), calls, "{name}");
    assert_eq!(turn.stop, stop, "{name}");
    assert_eq!(turn.complete, complete, "{name}");
    assert_eq!(turn.text, text, "{name}");
    if !calls.is_empty() || format != TEXT {
        assert_eq!(detect(&fixture(format, file)), Some(format), "{name}");
    }
}

#[test]
fn openai_chat() {
    check(
        CHAT,
        "parallel.json",
        Stop::Calls,
        true,
        "",
        &[
            r#"get_current_time#call_n3Xb {"timezone":"Europe/Berlin"}"#,
            r#"read_file#call_Qp81 {"path":"notes.md"}"#,
            r#"list_dir#call_7vYz {"path":"."}"#,
        ],
    );
    let answer = "The notes say that the release is on Monday.";
    check(CHAT, "no_calls.json", Stop::End, true, answer, &[]);
    check(CHAT, "refusal.json", Stop::Refused, true, "I can't help with that.", &[]);
    check(
        CHAT,
        "quirks.json",
        Stop::Calls,
        true,
        "",
        &[
            r#"read_file#call_1 {
            "path": "notes.md"
          }"#
            .replace("            \"", "                \"")
            .replace("          }", "              }")
            .as_str(),
            "get_current_time#call_2 null",
            "list_dir#call_3 ",
        ],
    );
    check(
        CHAT,
        "same_id.json",
        Stop::Calls,
        true,
        "",
        &[r#"read_file#call_1 {"path":"notes.md"}"#, "delete_file#call_3 BROKEN"],
    );
    check(
        CHAT,
        "length.json",
        Stop::Length,
        true,
        "",
        &[r#"read_file#call_a {"path":"notes.md"}"#, "write_file#call_b BROKEN"],
    );
    check(
        CHAT,
        "tagged.json",
        Stop::Calls,
        true,
        "I will read the notes first.",
        &[r#"read_file#call_1 {"path": "notes.md"}"#, "get_current_time#call_2 {}"],
    );
    check(
        CHAT,
        "custom.json",
        Stop::Calls,
        true,
        "",
        &[r#"sql#call_c {"input":"SELECT \"name\"\nFROM users;"}"#],
    );
    check(CHAT, "legacy.json", Stop::Calls, true, "", &[r#"read_file#- {"path":"notes.md"}"#]);
    check(
        CHAT,
        "ollama.json",
        Stop::Calls,
        true,
        "",
        &[
            "read_file#- {\n            \"path\": \"notes.md\"\n          }",
            "read_file#- {\n            \"path\": \"todo.md\"\n          }",
        ],
    );
}

#[test]
fn openai_chat_streams() {
    check(CHAT, "stream.sse", Stop::Calls, true, "Ich schaue nach – einen Moment.", &[
        r#"read_file#call_s1 {"path":"notes.md"}"#,
        r#"write_file#call_s2 {"path":"out.md","content":"größe \u2013 123"}"#
            .replace("größe", "grüße")
            .as_str(),
    ]);
    check(
        CHAT,
        "stream_index0.sse",
        Stop::Calls,
        true,
        "",
        &[
            r#"read_file#call_x {"path":"a.md"}"#,
            r#"read_file#call_y {"path":"b.md"}"#,
            "get_current_time#call_z {}",
        ],
    );
    check(
        CHAT,
        "stream_repeated.sse",
        Stop::Calls,
        true,
        "",
        &[r#"read_file#call_x {"path":"a.md"}"#, "read_file#call_2 BROKEN"],
    );
    check(
        CHAT,
        "stream_length.sse",
        Stop::Length,
        true,
        "",
        &[r#"read_file#call_x {"path":"a.md"}"#, "write_file#call_y BROKEN"],
    );
    let failed = Stop::Failed("upstream connection reset".to_owned());
    check(CHAT, "stream_error.sse", failed, false, "", &["read_file#call_x BROKEN"]);
    check(
        CHAT,
        "stream_deepseek.sse",
        Stop::Calls,
        true,
        "",
        &[r#"read_file#call_00_d {"path": "notes.md"}"#],
    );
    let deepseek = turn(CHAT, "stream_deepseek.sse");
    assert_eq!(deepseek.assistant["reasoning_content"], "The file first.");
    check(
        CHAT,
        "ollama.ndjson",
        Stop::Calls,
        true,
        "Let me look.",
        &[r#"read_file#- {"path":"notes.md"}"#, r#"read_file#- {"path":"todo.md"}"#],
    );
}

#[test]
fn openai_responses() {
    check(
        RESPONSES,
        "parallel.json",
        Stop::Calls,
        true,
        "",
        &[
            r#"get_current_time#call_aa {"timezone":"UTC"}"#,
            r#"read_file#call_bb {"path":"notes.md"}"#,
        ],
    );
    check(
        RESPONSES,
        "incomplete.json",
        Stop::Length,
        true,
        "",
        &[r#"read_file#call_aa {"path":"notes.md"}"#, "write_file#call_bb BROKEN"],
    );
    check(RESPONSES, "hosted.json", Stop::End, true, "Rust 1.95 is out.", &[]);
    assert_eq!(turn(RESPONSES, "hosted.json").hosted[0].kind, "web_search_call");
    for stream in ["stream.sse", "stream_repeated.sse"] {
        check(
            RESPONSES,
            stream,
            Stop::Calls,
            true,
            "",
            &[
                r#"read_file#call_s1 {"path":"notes.md"}"#,
                r#"write_file#call_s2 {"path":"out.md","content":"Grüße"}"#,
            ],
        );
    }
    let failed = Stop::Failed("server_error: The model failed.".to_owned());
    check(RESPONSES, "stream_failed.sse", failed, false, "", &["read_file#call_s1 BROKEN"]);
}

#[test]
fn provider_defined_items_are_calls() {
    let turn = turn(RESPONSES, "provider_defined.json");
    let kinds: Vec<CallKind> = turn.calls.iter().map(|call| call.extra.kind).collect();
    assert_eq!(
        kinds,
        [
            CallKind::Shell,
            CallKind::ApplyPatch,
            CallKind::Custom,
            CallKind::Computer,
            CallKind::Function
        ]
    );
    assert_eq!(turn.calls[0].name, "shell_call");
    assert_eq!(turn.calls[4].extra.caller, Some(json!({"type": "program", "caller_id": "prog_1"})));
    assert!(turn.hosted.is_empty());
}

#[test]
fn anthropic() {
    check(ANTHROPIC, "no_calls.json", Stop::End, true, "Done.", &[]);
    check(ANTHROPIC, "hosted.json", Stop::Paused, true, "Found it.", &[]);
    check(
        ANTHROPIC,
        "max_tokens.json",
        Stop::Length,
        true,
        "Writing.",
        &["write_file#toolu_01C BROKEN"],
    );
    // Not one digit is lost, and both of the double keys reach the decoder.
    check(
        ANTHROPIC,
        "long_number.json",
        Stop::Calls,
        true,
        "",
        &[r#"lookup#toolu_1 {"id":12345678901234567890123,"id":5}"#],
    );
    let text = "Moment – ich lese.";
    check(
        ANTHROPIC,
        "stream.sse",
        Stop::Calls,
        true,
        text,
        &[
            r#"read_file#toolu_02A {"path": "notes.md"}"#,
            "get_current_time#toolu_02B ",
            r#"write_file#toolu_02C {"path":"out.md","content":"größer als 10"}"#,
        ],
    );
    check(
        ANTHROPIC,
        "stream_max_tokens.sse",
        Stop::Length,
        true,
        text,
        &[r#"read_file#toolu_02A {"path": "notes.md"}"#, "write_file#toolu_02D BROKEN"],
    );
    let failed = Stop::Failed("Overloaded".to_owned());
    check(ANTHROPIC, "stream_overloaded.sse", failed, false, text, &["read_file#toolu_02A BROKEN"]);
    let replay = &turn(ANTHROPIC, "stream.sse").assistant["content"];
    assert_eq!(
        replay[0],
        json!({"type": "thinking", "thinking": "Read, then write.", "signature": "EqMB"})
    );
    assert_eq!(replay[2]["input"], json!({"path": "notes.md"}));
    assert_eq!(replay[3]["input"], json!({}));
    let parallel = turn(ANTHROPIC, "parallel.json");
    let body: serde_json::Value =
        serde_json::from_slice(&fixture(ANTHROPIC, "parallel.json")).unwrap();
    assert_eq!(parallel.assistant["content"], body["content"], "kept verbatim");
    assert_eq!(parallel.calls.len(), 2);
}

#[test]
fn gemini() {
    let parallel = turn(GEMINI, "parallel.json");
    assert_eq!(parallel.calls.len(), 3);
    assert_eq!(parallel.calls[0].provider_id.as_deref(), Some("fc-1"));
    assert_eq!(parallel.calls[0].extra.thought_signature.as_deref(), Some("CiQBVKhc7k"));
    assert_eq!(parallel.calls[1].extra.thought_signature, None);
    let no_ids = turn(GEMINI, "no_ids.json");
    assert_eq!(no_ids.calls[0].provider_id, None);
    assert_eq!(no_ids.text, "Sure. ");
    let malformed = Stop::Other("MALFORMED_FUNCTION_CALL".to_owned());
    check(GEMINI, "malformed.json", malformed, true, "", &[]);
    check(GEMINI, "blocked.json", Stop::Refused, true, "", &[]);
    check(GEMINI, "hosted.json", Stop::End, true, "It is 1.", &[]);
    for stream in ["stream.sse", "stream_array.json"] {
        let turn = turn(GEMINI, stream);
        assert_eq!(turn.text, "Ich lese.");
        assert_eq!(turn.stop, Stop::Calls);
        assert_eq!(turn.calls.len(), 2, "{stream}");
        let parts = turn.assistant["parts"].as_array().unwrap();
        assert_eq!(parts.len(), 5, "plain texts are joined, signed ones stay: {parts:?}");
        assert_eq!(parts[4], json!({"text": "", "thoughtSignature": "Zm9v"}));
        assert_eq!(parts[2]["thoughtSignature"], "CiQB");
    }
}

/// Gemini has no item for a search: its results are next to the answer.
#[test]
fn what_gemini_searched_is_a_hosted_call() {
    let searched = |grounding: serde_json::Value| {
        let content = json!({"role": "model", "parts": [{"text": "It is out."}]});
        let candidate =
            json!({"content": content, "finishReason": "STOP", "groundingMetadata": grounding});
        let body = json!({"candidates": [candidate]}).to_string();
        let turn = parse(GEMINI, body.as_bytes()).unwrap();
        turn.hosted.iter().map(|call| call.name.clone().unwrap()).collect::<Vec<_>>()
    };
    let chunk = json!({"web": {"uri": "https://example.com/", "title": "example.com"}});
    let found = json!({"webSearchQueries": ["rust"], "groundingChunks": [chunk]});
    assert_eq!(searched(found), ["google_search"]);
    assert!(searched(json!({})).is_empty());
    assert!(searched(json!(null)).is_empty());
}

#[test]
fn text() {
    check(
        TEXT,
        "tags.txt",
        Stop::Calls,
        true,
        "I will look at both files.",
        &[
            r#"read_file#- {"path": "notes.md"}"#,
            r#"write_file#- {"path": "out.md", "content": "</tool_call> in a string"}"#,
        ],
    );
    check(TEXT, "fence.txt", Stop::Calls, true, "", &[r#"read_file#- {"path": "notes.md"}"#]);
    check(
        TEXT,
        "actions.txt",
        Stop::Calls,
        true,
        "",
        &[r#"file_manager#- {"action":"read","path": "notes.md"}"#, "get_current_time#- {}"],
    );
    check(
        TEXT,
        "concatenated.txt",
        Stop::Calls,
        true,
        "",
        &[r#"read_file#- {"path": "a.md"}"#, r#"read_file#- {"path": "b.md"}"#],
    );
    let prose = turn(TEXT, "prose.txt");
    assert!(prose.calls.is_empty());
    assert!(prose.notes[0].contains("so it was not run"), "{:?}", prose.notes);
}

/// The item is a complete message and the response is completed; only the kind of its part shows
/// that the model refused.
#[test]
fn a_refusal_in_responses_is_one() {
    let body = json!({"object": "response", "status": "completed", "output": [{
        "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "refusal", "refusal": "I cannot help with that."}],
    }]});
    let turn = parse(RESPONSES, body.to_string().as_bytes()).unwrap();
    assert_eq!((turn.stop, turn.text.as_str()), (Stop::Refused, "I cannot help with that."));
}

/// A reader of the history parses the arguments again, with a depth limit.
#[test]
fn arguments_nested_without_end_are_replayed_as_text() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
    let call = json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": deep}});
    let body = json!({"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]});
    let turn = parse(CHAT, body.to_string().as_bytes()).unwrap();
    let args = turn.assistant["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
    let replayed: serde_json::Value = serde_json::from_str(args).unwrap();
    assert_eq!(replayed, json!({"INVALID_JSON": deep}));
}
