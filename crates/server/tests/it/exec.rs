//! The pipeline over HTTP: it accepts a provider's response and returns the messages to append to
//! the conversation.

use std::sync::Arc;

use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::Request;
use serde_json::{Value, json};
use toolcrib_core::{Effect, Risk, ToolOutput};
use toolcrib_testkit::ScriptedTool;

use crate::calls::with_tools;
use crate::support::{Plan, TestDaemon};

fn chat(calls: &[(&str, &str)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(at, (name, args))| {
            json!({"id": format!("c{at}"), "type": "function", "function": {"name": name, "arguments": args}})
        })
        .collect();
    json!({"choices": [{"message": {"role": "assistant", "tool_calls": calls}, "finish_reason": "tool_calls"}]})
}

#[tokio::test]
async fn the_answer_of_a_model_goes_in_and_messages_come_out() {
    let greet = Arc::new(ScriptedTool::new("greet").returns(ToolOutput::text("hello")));
    let risky = Arc::new(ScriptedTool::new("risky").spec(|spec| spec.risk = Risk::Critical));
    let daemon = TestDaemon::with(with_tools(&[&greet, &risky])).await;
    let client = daemon.client();
    let body = chat(&[("greet", "{}"), ("no_such_tool", "{}"), ("greet", "{broken")]);
    let done = client.post("/api/v1/exec", &body).await.expect(200);
    assert_eq!(done["format"], "openai-chat");
    let messages = done["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3, "one for each call");
    assert_eq!(messages[0]["tool_call_id"], "c0");
    assert!(messages[0]["content"].as_str().unwrap().contains("hello"));
    let states: Vec<&str> =
        done["calls"].as_array().unwrap().iter().map(|c| c["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["succeeded", "failed", "failed"]);
    assert_eq!(done["complete"], true);
    let id = done["calls"][0]["call"].as_str().unwrap();
    assert_eq!(client.get(&format!("/api/v1/calls/{id}")).await.expect(200)["result"], "hello");

    let asks = client.post("/api/v1/exec", &chat(&[("risky", "{}")])).await.expect(202);
    assert!(asks["waiting"][0]["id"].as_str().unwrap().starts_with("appr_"));
    assert_eq!(risky.runs(), 0);
    let nothing = json!({"choices": [{"message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]});
    let done = client.post("/api/v1/exec", &nothing).await.expect(200);
    assert_eq!(done["messages"], json!([]));
    daemon.stop().await;
}

#[tokio::test]
async fn a_recorded_stream_is_read_too() {
    let greet = Arc::new(ScriptedTool::new("greet").returns(ToolOutput::text("hello")));
    let daemon = TestDaemon::with(with_tools(&[&greet])).await;
    let chunk = |delta: Value, finish: Value| {
        format!(
            "data: {}\n\n",
            json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        )
    };
    let call = json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "greet", "arguments": "{}"}}]});
    let stream =
        chunk(call, Value::Null) + &chunk(json!({}), json!("tool_calls")) + "data: [DONE]\n\n";
    let answer = send(&daemon, "text/event-stream", stream.clone()).await;
    assert_eq!(answer["calls"][0]["provider_id"], "c1");
    assert_eq!(answer["calls"][0]["status"], "succeeded");
    // No call of an incomplete stream runs, and the result reports that.
    let (begun, _) = stream.split_once("\n\n").unwrap();
    let answer = send(&daemon, "text/event-stream", format!("{begun}\n\n")).await;
    assert_eq!(answer["complete"], false);
    assert_eq!(greet.runs(), 1);
    daemon.stop().await;
}

async fn send(daemon: &TestDaemon, kind: &str, body: String) -> Value {
    let request = Request::post("/api/v1/exec")
        .header("host", daemon.address.to_string())
        .header("authorization", format!("Bearer {}", daemon.token()))
        .header("content-type", kind);
    let stream = tokio::net::TcpStream::connect(daemon.address).await.unwrap();
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(request.body(Body::from(body)).unwrap()).await.unwrap();
    assert_eq!(response.status(), 200);
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

#[tokio::test]
async fn an_answer_under_a_key_runs_once() {
    let pay = Arc::new(ScriptedTool::new("pay").spec(|spec| spec.effect = Effect::SideEffect));
    let daemon = TestDaemon::with(Plan { durable: true, ..with_tools(&[&pay]) }).await;
    let client = daemon.client().with("idempotency-key", "turn 1");
    let body = chat(&[("pay", "{}"), ("pay", "{\"n\": 2}")]);
    let (one, other) =
        tokio::join!(client.post("/api/v1/exec", &body), client.post("/api/v1/exec", &body));
    assert_eq!(one.expect(200)["messages"], other.expect(200)["messages"]);
    assert_eq!(pay.runs(), 2);
    let else_ = client.post("/api/v1/exec", &chat(&[("pay", "{\"n\": 3}")])).await;
    assert_eq!(else_.problem(), "conflict");
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_no_answer_of_a_model_is_refused_in_words() {
    let daemon = TestDaemon::with(with_tools(&[])).await;
    let client = daemon.client();
    let check = async |path: &str, body: Value, code: &str, words: &str| {
        let answer = client.post(path, &body).await;
        assert_eq!(answer.problem(), code, "{body}");
        assert!(answer.json()["detail"].as_str().unwrap().contains(words), "{}", answer.text);
    };
    check("/api/v1/exec", json!({"hello": 1}), "invalid", "?format=").await;
    check("/api/v1/exec?format=pigeon", json!({}), "invalid", "pigeon").await;
    check("/api/v1/exec?colour=red", json!({}), "bad_request", "colour").await;
    let large = json!({"choices": "x".repeat(2 * 1024 * 1024)});
    assert_eq!(client.post("/api/v1/exec", &large).await.problem(), "too_large");
    daemon.stop().await;
}
