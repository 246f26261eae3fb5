//! Tests of usage and reasoning, whole and streamed, in every format and spelling.

use serde_json::{Value, json};

use super::*;
use crate::model_turn::Usage;

fn check(format: Format, body: &str, reasoning: &str, usage: Option<[Option<u64>; 5]>) {
    let (seen, turn) = whole(format, false, body);
    let turn = turn.unwrap_or_else(|e| panic!("{e}: {body}"));
    let expected = usage.map(|[input, output, cache_read, cache_write, reasoning]| Usage {
        input,
        output,
        cache_read,
        cache_write,
        reasoning,
    });
    assert_eq!(turn.usage, expected, "{body}");
    assert_eq!(turn.reasoning, reasoning, "{body}");
    assert_eq!(seen.reasoning, reasoning, "{body}");
    assert_eq!(seen.text, "Hi.", "{body}");
}

fn chat(message: &Value, usage: &Value) -> String {
    let mut message = message.clone();
    message["role"] = "assistant".into();
    message["content"] = "Hi.".into();
    json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).to_string()
}

fn chat_stream(deltas: &[Value], usage: &Value) -> String {
    let mut chunks: Vec<Value> = deltas
        .iter()
        .map(|d| json!({"choices": [{"index": 0, "delta": d}], "usage": null}))
        .collect();
    chunks.push(
        json!({"choices": [{"index": 0, "delta": {"content": "Hi."}, "finish_reason": "stop"}]}),
    );
    chunks.push(json!({"choices": [], "usage": usage}));
    events(&chunks) + "data: [DONE]\n\n"
}

#[test]
fn openai_chat() {
    const CHAT: Format = Format::OpenAiChat;
    let full = json!({
        "prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 5},
    });
    let counted = Some([Some(10), Some(20), Some(4), None, Some(5)]);
    for key in ["reasoning_content", "reasoning", "thinking"] {
        check(CHAT, &chat(&json!({key: "Hm. So."}), &full), "Hm. So.", counted);
        let deltas = [json!({key: "Hm. "}), json!({key: "So."})];
        check(CHAT, &chat_stream(&deltas, &full), "Hm. So.", counted);
    }
    let details = |text: &str| json!([{"type": "reasoning.text", "index": 0, "text": text}]);
    let message = json!({"reasoning_details": details("Hm.")});
    check(CHAT, &chat(&message, &Value::Null), "Hm.", None);
    // The same text in two members counts once.
    let both = json!({"reasoning": "Hm.", "reasoning_details": details("Hm.")});
    check(CHAT, &chat(&both, &json!({})), "Hm.", None);
    let deepseek = json!({"prompt_tokens": 10, "prompt_cache_hit_tokens": 8});
    check(CHAT, &chat(&json!({}), &deepseek), "", Some([Some(10), None, Some(8), None, None]));
    let odd = json!({"prompt_tokens": -1, "completion_tokens": "many"});
    check(CHAT, &chat(&json!({}), &odd), "", None);
    let groq = json!({"choices": [{"index": 0, "delta": {"content": "Hi."}, "finish_reason": "stop"}],
        "x_groq": {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}});
    check(CHAT, &events(&[groq]), "", Some([Some(1), Some(2), None, None, None]));
}

/// OpenRouter requires its reasoning blocks back as they were before streaming.
#[test]
fn pieces_of_reasoning_details_are_joined() {
    let piece = |index: u64, text: &str, signature: Value| json!({"reasoning_details": [{"type": "reasoning.text", "index": index, "text": text, "signature": signature}]});
    let deltas = [
        piece(0, "Hm. ", Value::Null),
        piece(0, "So.", "sig".into()),
        piece(1, "Yes.", Value::Null),
    ];
    let turn = whole(Format::OpenAiChat, false, &chat_stream(&deltas, &Value::Null)).1.unwrap();
    assert_eq!(
        turn.assistant["reasoning_details"],
        json!([
            {"type": "reasoning.text", "index": 0, "text": "Hm. So.", "signature": "sig"},
            {"type": "reasoning.text", "index": 1, "text": "Yes.", "signature": null},
        ])
    );
    assert_eq!(turn.reasoning, "Hm. So.Yes.");
}

#[test]
fn ollama() {
    let line = |content: &str, thinking: &str| json!({"message": {"role": "assistant", "content": content, "thinking": thinking}, "done": false});
    let last = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 7, "eval_count": 9});
    let lines = [line("", "Hm."), line("Hi.", ""), last];
    let stream: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let counted = Some([Some(7), Some(9), None, None, None]);
    check(Format::OpenAiChat, &stream, "Hm.", counted);
    let body = json!({"message": {"role": "assistant", "content": "Hi.", "thinking": "Hm."}, "done": true,
        "prompt_eval_count": 7, "eval_count": 9});
    check(Format::OpenAiChat, &body.to_string(), "Hm.", counted);
}

#[test]
fn openai_responses() {
    let usage = json!({"input_tokens": 10, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 5}});
    let counted = Some([Some(10), Some(20), Some(4), None, Some(5)]);
    let part = |text: &str| json!({"type": "summary_text", "text": text});
    let reasoning = json!({"type": "reasoning", "id": "r", "summary": [part("Hm."), part("So.")]});
    let message = json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]});
    let output = json!([reasoning, message]);
    let response =
        json!({"object": "response", "status": "completed", "output": output, "usage": usage});
    check(Format::OpenAiResponses, &response.to_string(), "Hm.\n\nSo.", counted);
    let delta = |kind: &str, index: u64, part: u64, text: &str| json!({"type": format!("response.{kind}.delta"), "output_index": index, "summary_index": part, "delta": text});
    let item = |kind: &str, index: u64, item: &Value| json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item});
    let stream = events(&[
        item("added", 0, &json!({"type": "reasoning", "id": "r", "summary": []})),
        delta("reasoning_summary_text", 0, 0, "H"),
        delta("reasoning_summary_text", 0, 0, "m."),
        delta("reasoning_summary_text", 0, 1, "So."),
        item("done", 0, &reasoning),
        item(
            "added",
            1,
            &json!({"type": "message", "id": "m", "role": "assistant", "content": []}),
        ),
        delta("output_text", 1, 0, "H"),
        item("done", 1, &message),
        json!({"type": "response.completed", "response": {"status": "completed", "output": output, "usage": usage}}),
    ]);
    check(Format::OpenAiResponses, &stream, "Hm.\n\nSo.", counted);
    // A proxy that sends only the end.
    let end = json!({"type": "response.completed", "response": response});
    check(Format::OpenAiResponses, &events(&[end]), "Hm.\n\nSo.", counted);
    let open = json!({"output": [
        {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}, message,
    ]});
    check(Format::OpenAiResponses, &open.to_string(), "Hm.", None);
}

#[test]
fn anthropic() {
    let content = json!([
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "Hi."},
    ]);
    let body = |usage: Value| {
        json!({"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": usage}).to_string()
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 3});
    let counted = Some([Some(17), Some(20), Some(4), Some(3), None]);
    check(Format::Anthropic, &body(usage), "Hm.", counted);
    let plain = json!({"input_tokens": 10, "output_tokens": 20});
    check(Format::Anthropic, &body(plain), "Hm.", Some([Some(10), Some(20), None, None, None]));
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let stream = events(&[
        json!({"type": "message_start", "message": {"role": "assistant", "content": [],
            "usage": {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 3}}}),
        start(0, json!({"type": "thinking", "thinking": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "H"})),
        delta(0, json!({"type": "thinking_delta", "thinking": "m."})),
        delta(0, json!({"type": "signature_delta", "signature": "s"})),
        stop(0),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "Hi."})),
        stop(1),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ]);
    check(Format::Anthropic, &stream, "Hm.", counted);
}

#[test]
fn gemini() {
    let chunk = |parts: Value, finish: Value, usage: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}], "usageMetadata": usage});
    let usage = json!({"promptTokenCount": 10, "candidatesTokenCount": 15, "thoughtsTokenCount": 5, "cachedContentTokenCount": 4});
    let counted = Some([Some(10), Some(20), Some(4), None, Some(5)]);
    let thought = json!({"text": "Hm.", "thought": true});
    let body = chunk(json!([thought, {"text": "Hi."}]), "STOP".into(), usage.clone());
    check(Format::Gemini, &body.to_string(), "Hm.", counted);
    let first = chunk(
        json!([thought]),
        Value::Null,
        json!({"promptTokenCount": 10, "thoughtsTokenCount": 2}),
    );
    let last = chunk(json!([{"text": "Hi."}]), "STOP".into(), usage);
    check(Format::Gemini, &events(&[first.clone(), last.clone()]), "Hm.", counted);
    check(Format::Gemini, &format!("[{first},\n{last}]"), "Hm.", counted);
    let snake = json!({"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finish_reason": "STOP"}],
        "usage_metadata": {"prompt_token_count": 1, "candidates_token_count": 2}});
    check(Format::Gemini, &snake.to_string(), "", Some([Some(1), Some(2), None, None, None]));
    let none = chunk(json!([{"text": "Hi."}]), "STOP".into(), Value::Null);
    check(Format::Gemini, &none.to_string(), "", None);
}
