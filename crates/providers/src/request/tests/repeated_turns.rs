//! Tests of histories with repeated turns of a provider: each call and each id occurs once.

use serde_json::json;

use super::*;
use crate::quirks::Server;

fn paused(content: Value) -> Message {
    let body = json!({"type": "message", "role": "assistant", "content": content, "stop_reason": "pause_turn"});
    model(turn(Format::Anthropic, &body), "here", vec![])
}

#[test]
fn a_repeated_paused_turn_doubled_its_hosted_call() {
    let text = json!({"type": "text", "text": "I look it up."});
    let search = |id: &str| json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "x"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": []});
    let dialect = Dialect::new(Server::Anthropic);
    let ask = |answers: Vec<Message>| {
        let messages = [user("Search.")].into_iter().chain(answers).collect();
        let body = body(&dialect, &request(messages));
        assert_eq!(body["messages"].as_array().unwrap().len(), 2);
        body["messages"][1]["content"].clone()
    };
    let first = || paused(json!([text, search("s1")]));
    assert_eq!(ask(vec![first(), first(), first()]), json!([text, search("s1")]));
    // The continuation repeats what it continues.
    let whole = paused(json!([text, search("s1"), found]));
    assert_eq!(ask(vec![first(), whole]), json!([text, search("s1"), found]));
    // The usual continuation contains only the rest; another search remains a separate search.
    let rest = paused(json!([found, text, search("s2")]));
    assert_eq!(ask(vec![first(), rest]), json!([text, search("s1"), found, text, search("s2")]));
}

#[test]
fn the_second_call_under_one_id_lost_its_arguments() {
    let call = |id: &str, path: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": format!("{{\"path\":\"{path}\"}}")}});
    let answer = json!({"choices": [{"finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": null, "tool_calls": [call("1", "a"), call("1", "b")],
    }}]});
    for server in [Server::OpenaiChat, Server::OpenaiCompatible, Server::Deepseek, Server::Vllm] {
        let turn = turn(Format::OpenAiChat, &answer);
        let answers = vec![success("look", "a cat", vec![]), failure("look")];
        let body = body(
            &Dialect::new(server),
            &request(vec![user("Look."), model(turn, "here", answers)]),
        );
        let messages = body["messages"].as_array().unwrap();
        let calls = messages.iter().find(|message| message["role"] == "assistant").unwrap();
        assert_eq!(calls["tool_calls"], json!([call("1", "a"), call("call_2", "b")]), "{server:?}");
        let results = messages.iter().filter(|message| message["role"] == "tool");
        let ids: Vec<&Value> = results.map(|result| &result["tool_call_id"]).collect();
        assert_eq!(ids, ["1", "call_2"], "{server:?}");
    }
}
