//! Repeating calls over HTTP.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::ToolOutput;
use toolcrib_testkit::ScriptedTool;

use crate::calls::with_tools;
use crate::support::{Plan, TestDaemon};

#[tokio::test]
async fn a_call_is_made_again_as_a_new_one() {
    let tool = Arc::new(ScriptedTool::new("greet").returns(ToolOutput::text("hello")));
    let daemon = TestDaemon::with(Plan { durable: true, ..with_tools(&[&tool]) }).await;
    let client = daemon.client();
    let body = json!({"tool": "greet", "arguments": {"who": "ann"}});
    let first = client.post("/api/v1/calls", &body).await.expect(200);
    let place = format!("/api/v1/calls/{}", first["call"].as_str().unwrap());
    let again = client.post(&format!("{place}/again"), &json!({})).await.expect(200);
    assert_ne!(again["call"], first["call"]);
    assert_eq!((&again["tool"], &again["result"]), (&json!("greet"), &json!("hello")));
    assert_eq!(tool.seen(), vec![json!({"who": "ann"}); 2]);
    let explain = format!("/api/v1/calls/{}/explain", again["call"].as_str().unwrap());
    let topic = client.get(&explain).await.expect(200)["facts"]["topic"].clone();
    assert_eq!(topic, json!(format!("the call {} again", first["call"].as_str().unwrap())));
    // With a key, the call is accepted once, and can be looked up later.
    let keyed = daemon.client().with("idempotency-key", "k1");
    let taken =
        keyed.post(&format!("{place}/again"), &json!({"wait_ms": 60_000})).await.expect(200);
    let same = keyed.post(&format!("{place}/again"), &json!({"wait_ms": 60_000})).await.expect(200);
    assert_eq!((&taken["call"], tool.seen().len()), (&same["call"], 3));
    let token = json!({"name": "looker", "roles": ["viewer"]});
    let viewer = daemon.anybody().with_token(&crate::tokens::made(&daemon, token).await.0);
    viewer.post(&format!("{place}/again"), &json!({})).await.expect(403);
    client
        .post("/api/v1/calls/call_00000000000000000000000000000000/again", &json!({}))
        .await
        .expect(404);
    daemon.stop().await;
}

/// The stored arguments of a long call are gone: the call is not repeated with other arguments.
#[tokio::test]
async fn a_call_without_its_arguments_is_not_made_again() {
    let tool = Arc::new(ScriptedTool::new("greet").returns(ToolOutput::text("hello")));
    let daemon = TestDaemon::with(Plan { durable: true, ..with_tools(&[&tool]) }).await;
    let client = daemon.client();
    let body = json!({"tool": "greet", "arguments": {"who": "a".repeat(20_000)}});
    let first = client.post("/api/v1/calls", &body).await.expect(200);
    let place = format!("/api/v1/calls/{}/again", first["call"].as_str().unwrap());
    let refused = client.post(&place, &json!({})).await;
    assert_eq!((refused.problem().as_str(), tool.seen().len()), ("conflict", 1));
    daemon.stop().await;
}
