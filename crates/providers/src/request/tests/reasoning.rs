//! Tests of reasoning models' restrictions: foreign reasoning, a temperature, and a budget larger
//! than the answer.

use serde_json::json;

use super::*;
use crate::quirks::Server;

fn body_for(model: &str, dialect: &Dialect, asked: &ModelRequest) -> Value {
    let info = ModelInfo { model: model.into(), ..info(dialect.format) };
    serde_json::from_slice(&render_body(&info, dialect, asked)).unwrap()
}

/// A turn of the model `m-1` with encrypted reasoning.
fn reasoned() -> ModelRequest {
    let output = json!({"output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "look", "arguments": "{}"},
    ]});
    let turn = turn(Format::OpenAiResponses, &output);
    let answers = vec![success("look", "a cat", vec![])];
    request(vec![user("Go."), model(turn, "here", answers), user("On.")])
}

#[test]
fn reasoning_of_another_model_was_replayed() {
    for (stored, model, is_kept) in [
        (false, "m-1", true),
        (true, "m-1", true),
        (false, "m-2", false),
        (true, "m-2", false),
        (false, "gpt-4.1", false),
    ] {
        let mut dialect = Dialect::new(Server::OpenaiResponses);
        dialect.quirks.store = stored;
        let got = body_for(model, &dialect, &reasoned());
        let types: Vec<&str> =
            got["input"].as_array().unwrap().iter().map(|i| i["type"].as_str().unwrap()).collect();
        let mut expected = vec![
            "message",
            "reasoning",
            "message",
            "function_call",
            "function_call_output",
            "message",
        ];
        if !is_kept {
            expected.remove(1);
        }
        assert_eq!(types, expected, "{stored} {model}");
        let has_ids = got["input"].to_string().contains("msg_1");
        assert_eq!((has_ids, got["input"].to_string().contains("fc_1")), (is_kept, is_kept));
    }
    // A model that is configured not to take encrypted reasoning does not get its own back either.
    let mut asked = reasoned();
    let Message::Model(message) = Arc::make_mut(&mut asked.messages[1]) else { panic!() };
    message.model = "gpt-4.1".into();
    let got = body_for("gpt-4.1", &Dialect::new(Server::OpenaiResponses), &asked);
    assert!(!got["input"].to_string().contains("gAAA"), "{got}");
}

#[test]
fn a_temperature_was_sent_to_openai_reasoning_models() {
    let mut asked = request(vec![user("Hi.")]);
    asked.temperature = Some(0.5);
    for (server, model, owner, is_sent) in [
        (Server::OpenaiResponses, "gpt-5.2", None, false),
        (Server::OpenaiChat, "gpt-5.2", None, false),
        (Server::OpenaiChat, "o3-mini", None, false),
        (Server::OpenaiChat, "ft:gpt-5:mine", None, false),
        (Server::OpenaiChat, "codex-mini-latest", None, false),
        (Server::OpenaiChat, "gpt-5.2-chat-latest", None, true),
        (Server::OpenaiChat, "gpt-4.1", None, true),
        (Server::OpenaiChat, "ft:gpt-4.1:mine", None, true),
        (Server::OpenaiResponses, "gpt-4o", None, true),
        // Another vendor's model behind the same API.
        (Server::OpenaiChat, "olmo-2", None, true),
        (Server::OpenaiChat, "gpt-5.2", Some(true), true),
        (Server::OpenaiChat, "gpt-4.1", Some(false), false),
        (Server::Openrouter, "openai/gpt-5.2", None, true),
    ] {
        let mut dialect = Dialect::new(server);
        if owner.is_some() {
            dialect.quirks.temperature = owner;
        }
        let got = body_for(model, &dialect, &asked);
        assert_eq!(got.get("temperature").is_some(), is_sent, "{server:?} {model} {owner:?}");
    }
}

fn thinking(extra: Value) -> Dialect {
    let mut dialect = Dialect::new(Server::Anthropic);
    dialect.quirks.extra = extra.as_object().cloned().unwrap();
    dialect
}

#[test]
fn the_thinking_budget_was_larger_than_the_answer() {
    let on = |budget: u64| json!({"type": "enabled", "budget_tokens": budget});
    for (extra, max_output, max_tokens, has_temperature) in [
        (json!({"thinking": on(10_000)}), None, 18_192, false),
        (json!({"thinking": on(10_000)}), Some(2_000), 12_000, false),
        (json!({"thinking": on(1_024)}), Some(2_000), 2_000, false),
        (json!({"thinking": on(10_000), "max_tokens": 20_000}), None, 20_000, false),
        (json!({"thinking": on(1_024), "temperature": 1}), None, 9_216, true),
        (json!({"thinking": {"type": "adaptive"}}), None, 8_192, false),
        (json!({"thinking": {"type": "disabled"}}), None, 8_192, true),
        (json!({}), None, 8_192, true),
    ] {
        let mut asked = request(vec![user("Hi.")]);
        (asked.temperature, asked.max_output) = (Some(0.5), max_output);
        let got = body(&thinking(extra.clone()), &asked);
        assert_eq!(got["max_tokens"], max_tokens, "{extra}");
        assert_eq!(got.get("temperature").is_some(), has_temperature, "{extra}");
    }
}

fn guard(text: &str) -> Message {
    Message::User(UserMessage { text: text.into(), images: vec![], kind: UserKind::Guard })
}

/// A turn of Messages with one call.
fn own(thinks: bool, id: &str) -> Message {
    let mut content = vec![json!({"type": "tool_use", "id": id, "name": "look", "input": {}})];
    if thinks {
        content.insert(0, json!({"type": "thinking", "thinking": "Hm.", "signature": "s"}));
    }
    let body = json!({"role": "assistant", "type": "message", "stop_reason": "tool_use", "content": content});
    let answers = vec![success("look", "a cat", vec![])];
    model(turn(Format::Anthropic, &body), "here", answers)
}

#[test]
fn thinking_began_behind_foreign_calls_and_a_guard() {
    let foreign = || {
        let call = json!({"id": "x", "function": {"name": "look", "arguments": "{}"}});
        let body = json!({"role": "assistant", "content": "", "tool_calls": [call]});
        let answers = vec![success("look", "a cat", vec![])];
        model(turn(Format::OpenAiChat, &body), "elsewhere", answers)
    };
    let said = || said(Format::Anthropic, "A cat.");
    for (name, messages, thinks) in [
        ("foreign", vec![user("Go."), foreign()], false),
        ("foreign and a guard", vec![user("Go."), foreign(), guard("Hurry.")], false),
        ("foreign and a person", vec![user("Go."), foreign(), user("Hurry.")], false),
        ("went on without", vec![user("Go."), foreign(), guard("!"), own(false, "a")], false),
        (
            "went on without, guarded",
            vec![user("Go."), foreign(), own(false, "a"), guard("!")],
            false,
        ),
        ("the foreign work is done", vec![user("Go."), foreign(), said(), user("Next.")], true),
        ("said, then guarded", vec![user("Go."), foreign(), said(), guard("!")], true),
        ("its own", vec![user("Go."), own(true, "a")], true),
        ("its own, thought of once", vec![user("Go."), own(true, "a"), own(false, "b")], true),
        (
            "its own and a guard",
            vec![user("Go."), own(true, "a"), guard("!"), own(false, "b")],
            true,
        ),
        ("begun before it was told to think", vec![user("Go."), own(false, "a")], false),
        ("nothing yet", vec![user("Go.")], true),
    ] {
        let extra = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}});
        let got = body(&thinking(extra), &request(messages));
        assert_eq!(got.get("thinking").is_some(), thinks, "{name}: {got}");
    }
}
