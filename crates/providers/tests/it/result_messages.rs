//! Tests of result messages in every format.

use serde_json::{Value, json};
use toolcrib_core::{
    Blob, Block, CallId, ErrorType, ModelResult, Outcome, OutcomeKind, Report, ToolError,
};
use toolcrib_providers::{CallResult, Format, ResultEntry, Turn, result_messages};

use super::support::turn;

fn ok(result: Value, media: Vec<Block>) -> Outcome {
    Outcome {
        call: CallId::fresh(),
        asked: "t".into(),
        tool: None,
        kind: OutcomeKind::Succeeded,
        result: Ok(ModelResult {
            media,
            ..serde_json::from_value(json!({
                "result": result, "is_error": false, "trust": "tool", "flagged": false,
            }))
            .unwrap()
        }),
        notes: vec![],
        report: Report::default(),
        unrecorded: None,
    }
}

fn failed() -> Outcome {
    let mut outcome = ok(Value::Null, vec![]);
    outcome.kind = OutcomeKind::TimedOut;
    outcome.result = Err(ToolError::new(ErrorType::Timeout, "Tool execution timed out after 5s"));
    outcome
}

fn picture() -> Block {
    Block::Image(Blob { media_type: "image/png".into(), data: b"abc".to_vec() })
}

/// The second call fails, the others succeed; given in reverse order.
fn answer(turn: &Turn) -> Vec<Value> {
    let outcomes: Vec<Outcome> = (0..turn.calls.len())
        .map(|i| if i == 1 { failed() } else { ok(json!(format!("<r{i}>")), vec![picture()]) })
        .collect();
    let replies: Vec<ResultEntry<'_>> = outcomes
        .iter()
        .enumerate()
        .rev()
        .map(|(call, outcome)| ResultEntry { call, answer: CallResult::Outcome(outcome) })
        .collect();
    result_messages(turn, &replies)
}

const R0: &str = r#"{"status":"success","result":"<r0>"}"#;
const R1: &str =
    r#"{"status":"error","error_type":"timeout","message":"Tool execution timed out after 5s"}"#;
const R2: &str = r#"{"status":"success","result":"<r2>"}"#;

#[test]
fn openai_chat_pictures_come_after_all_tool_messages() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}});
    assert_eq!(
        json!(answer(&turn(Format::OpenAiChat, "parallel.json"))),
        json!([
            {"role": "tool", "tool_call_id": "call_n3Xb", "content": R0},
            {"role": "tool", "tool_call_id": "call_Qp81", "content": R1},
            {"role": "tool", "tool_call_id": "call_7vYz", "content": R2},
            {"role": "user", "content": [
                {"type": "text", "text": "From the result of call_n3Xb:"}, image,
                {"type": "text", "text": "From the result of call_7vYz:"}, image,
            ]},
        ])
    );
}

#[test]
fn openai_chat_dialects() {
    assert_eq!(
        json!(answer(&turn(Format::OpenAiChat, "ollama.json"))),
        json!([
            {"role": "tool", "tool_name": "read_file", "content": R0, "images": ["YWJj"]},
            {"role": "tool", "tool_name": "read_file", "content": R1},
        ])
    );
    let legacy = answer(&turn(Format::OpenAiChat, "legacy.json"));
    assert_eq!(legacy[0], json!({"role": "function", "name": "read_file", "content": R0}));
}

/// Ids that were missing are in the replayed turn too, or the next request would be refused.
#[test]
fn made_ids_match_the_assistant_message() {
    let turn = turn(Format::OpenAiChat, "quirks.json");
    let calls = turn.assistant["tool_calls"].as_array().unwrap();
    for (message, call) in answer(&turn).iter().zip(calls) {
        assert_eq!(message["tool_call_id"], call["id"]);
        assert_eq!(call["type"], "function");
        let args = call["function"]["arguments"].as_str().unwrap();
        assert!(serde_json::from_str::<Value>(args).is_ok(), "{args:?}");
    }
}

/// One call per id; another call under the same id is not run, and is answered under a separate id.
#[test]
fn two_calls_with_one_id() {
    let turn = turn(Format::OpenAiChat, "same_id.json");
    let calls = turn.assistant["tool_calls"].as_array().unwrap();
    let ids: Vec<&Value> = calls.iter().map(|call| &call["id"]).collect();
    assert_eq!(ids, ["call_1", "call_3"]);
    let messages = answer(&turn);
    assert_eq!(messages[0]["tool_call_id"], "call_1");
    assert_eq!(messages[1]["tool_call_id"], "call_3");
    assert_eq!(messages[1]["content"], R1);
}

#[test]
fn openai_responses() {
    assert_eq!(
        json!(answer(&turn(Format::OpenAiResponses, "parallel.json"))),
        json!([
            {"type": "function_call_output", "call_id": "call_aa", "output": [
                {"type": "input_text", "text": R0},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,YWJj"},
            ]},
            {"type": "function_call_output", "call_id": "call_bb", "output": R1},
        ])
    );
}

#[test]
fn openai_responses_items_are_answered_in_kind() {
    let turn = turn(Format::OpenAiResponses, "provider_defined.json");
    let items = answer(&turn);
    let kinds: Vec<&str> = items.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "shell_call_output",
            "apply_patch_call_output",
            "custom_tool_call_output",
            "computer_call_output",
            "function_call_output"
        ]
    );
    assert_eq!(items[0]["output"][0]["outcome"], json!({"type": "exit", "exit_code": 0}));
    assert_eq!(items[1]["status"], "failed");
    assert_eq!(items[3]["output"]["image_url"], "data:image/png;base64,YWJj");
    assert_eq!(items[3]["acknowledged_safety_checks"][0]["id"], "sc_1");
    assert_eq!(items[4]["caller"]["caller_id"], "prog_1");
    // Not run: nothing is acknowledged, and every call still has its item.
    let none = result_messages(&turn, &[]);
    assert_eq!(none.len(), 6, "five results and a word about the missing screenshot");
    assert!(none[3].get("acknowledged_safety_checks").is_none());
    assert_eq!(none[0]["output"][0]["outcome"]["exit_code"], 1);
}

#[test]
fn anthropic_has_one_user_message() {
    assert_eq!(
        json!(answer(&turn(Format::Anthropic, "parallel.json"))),
        json!([
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_01A", "content": [
                    {"type": "text", "text": R0},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "YWJj"}},
                ]},
                {"type": "tool_result", "tool_use_id": "toolu_01B", "content": [{"type": "text", "text": R1}], "is_error": true},
            ]},
        ])
    );
}

#[test]
fn gemini_has_one_content_with_ids_and_signatures() {
    let messages = answer(&turn(Format::Gemini, "parallel.json"));
    let message = "Tool execution timed out after 5s";
    assert_eq!(messages.len(), 1);
    let inline = json!([{"inlineData": {"mimeType": "image/png", "data": "YWJj"}}]);
    assert_eq!(
        messages[0],
        json!({"role": "user", "parts": [
            {"functionResponse": {"id": "fc-1", "name": "get_current_time", "response": {"status": "success", "result": "<r0>"}, "parts": inline},
             "thoughtSignature": "CiQBVKhc7k"},
            {"functionResponse": {"id": "fc-2", "name": "read_file",
             "response": {"status": "error", "error_type": "timeout", "message": message, "error": message}}},
            {"functionResponse": {"id": "fc-3", "name": "read_file", "response": {"status": "success", "result": "<r2>"}, "parts": inline}},
        ]})
    );
    let no_ids = answer(&turn(Format::Gemini, "no_ids.json"));
    assert!(no_ids[0]["parts"][0]["functionResponse"].get("id").is_none());
}

#[test]
fn a_text_result_cannot_end_its_own_element() {
    let messages = answer(&turn(Format::Text, "tags.txt"));
    let content = messages[0]["content"].as_str().unwrap();
    assert_eq!(messages.len(), 1);
    assert!(
        content.starts_with("<tool_result name=\"read_file\" id=\"1\">\n{\"status\":\"success\"")
    );
    assert!(content.contains("\\u003cr0>") && !content.contains("<r0>"), "{content}");
    assert!(content.contains("image/png, 3 bytes: not shown"), "{content}");
    assert_eq!(content.matches("</tool_result>").count(), 2);
}

#[test]
fn every_call_has_one_result_whatever_is_given() {
    for (format, file, body) in super::support::fixtures() {
        let Ok(turn) = toolcrib_providers::parse(format, &body) else { continue };
        let done = ok(json!(1), vec![]);
        let twice = ResultEntry { call: 0, answer: CallResult::Outcome(&done) };
        let stray = ResultEntry { call: 99, answer: CallResult::NotRun("x") };
        let waits = ResultEntry { call: 0, answer: CallResult::Suspended("Waits for a person.") };
        let text = json!(result_messages(&turn, &[waits, twice, stray])).to_string();
        let results = text.matches("status\\\":").count()
            + text.matches("\"status\":\"suspended").count()
            + text.matches("\"status\":\"not_run").count();
        assert_eq!(results, turn.calls.len(), "{format}/{file}: {text}");
        assert_eq!(text.contains("suspended"), !turn.calls.is_empty());
    }
}

#[test]
fn a_result_too_large_for_the_format_is_shortened() {
    let huge = ok(json!("ä".repeat(1_050_000)), vec![]);
    let turn = turn(Format::OpenAiChat, "parallel.json");
    let messages =
        result_messages(&turn, &[ResultEntry { call: 0, answer: CallResult::Outcome(&huge) }]);
    let content = messages[0]["content"].as_str().unwrap();
    assert!(content.chars().count() < 1_048_576, "more is refused by the API");
    let wire: Value = serde_json::from_str(content).unwrap();
    assert!(
        wire["shortened"].as_str().unwrap().contains("1050032 characters"),
        "{}",
        wire["shortened"]
    );
    assert!(wire["result"].as_str().unwrap().ends_with('ä'), "both ends are kept");
}

/// A picture beyond the limit, or of a type that the provider refuses, would make the whole request
/// fail.
#[test]
fn pictures_that_do_not_fit_are_named() {
    let large = Block::Image(Blob { media_type: "image/png".into(), data: vec![0; 4_000_000] });
    let vector = Block::Image(Blob { media_type: "image/svg+xml".into(), data: vec![1] });
    let outcome = ok(json!("x"), vec![large, vector]);
    let turn = turn(Format::Anthropic, "parallel.json");
    let messages =
        result_messages(&turn, &[ResultEntry { call: 0, answer: CallResult::Outcome(&outcome) }]);
    let content = &messages[0]["content"][0]["content"];
    assert_eq!(content.as_array().unwrap().len(), 1);
    let text = content[0]["text"].as_str().unwrap();
    assert!(text.contains("4000000 bytes: not shown") && text.contains("svg"), "{text}");
}
