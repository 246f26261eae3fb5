//! MCP at `/mcp`: behind the same checks as every route, through the same pipeline, with decisions
//! by authorized tokens only.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::mcp::client::{Remote, ServerConfig, ServerName, Stdio};
use toolcrib_core::{Risk, ToolOutput};
use toolcrib_testkit::ScriptedTool;

use crate::calls::with_tools;
use crate::support::{Client, TestDaemon};
use crate::tokens::made;

/// Calls a tool as a client of the current revision that can ask its user; returns the only message
/// of the response.
async fn call(client: &Client, tool: &str, more: Value) -> Value {
    let mut params = json!({"name": tool, "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }});
    params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let client = client
        .clone()
        .with("accept", "application/json, text/event-stream")
        .with("mcp-protocol-version", "2026-07-28")
        .with("mcp-method", "tools/call")
        .with("mcp-name", tool);
    let answer = client.post("/mcp", &message).await;
    assert_eq!(answer.status.as_u16(), 200, "{}", answer.text);
    let text = answer.text.lines().find_map(|line| line.strip_prefix("data: "));
    let message: Value = serde_json::from_str(text.unwrap_or(&answer.text)).unwrap();
    message["result"].clone()
}

#[tokio::test]
async fn calls_pass_the_door_and_questions_are_decided_by_who_may() {
    let greet = Arc::new(ScriptedTool::new("greet").returns(ToolOutput::text("hello")));
    let risky = Arc::new(
        ScriptedTool::new("risky")
            .spec(|spec| spec.risk = Risk::High)
            .returns(ToolOutput::text("done")),
    );
    let daemon = TestDaemon::with(with_tools(&[&greet, &risky])).await;
    let owner = daemon.client();
    let result = call(&owner, "greet", Value::Null).await;
    assert_eq!(result["content"][0]["text"], "hello", "{result}");
    let id = result["_meta"]["dev.toolcrib/call"]["id"].as_str().unwrap();
    assert_eq!(owner.get(&format!("/api/v1/calls/{id}")).await.expect(200)["result"], "hello");

    let asked = call(&owner, "risky", Value::Null).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(risky.runs(), 0);
    let yes = json!({"approval": {"action": "accept", "content": {"decision": "approve"}}});
    let back = json!({"inputResponses": yes, "requestState": asked["requestState"]});
    let result = call(&owner, "risky", back.clone()).await;
    assert_eq!((&result["content"][0]["text"], risky.runs()), (&json!("done"), 1), "{result}");
    call(&owner, "risky", back).await;
    assert_eq!(risky.runs(), 1, "a ticket is good for one time");

    // Regression, found in review: a token with only the role caller approved its own calls.
    let token = made(&daemon, json!({"name": "agent", "roles": ["caller"]})).await.0;
    let caller = daemon.anybody().with_token(&token);
    let result = call(&caller, "greet", Value::Null).await;
    assert_eq!(result["content"][0]["text"], "hello", "{result}");
    let result = call(&caller, "risky", Value::Null).await;
    assert_eq!((&result["isError"], risky.runs()), (&json!(true), 1), "{result}");
    assert_ne!(result["resultType"], "input_required");
    assert!(result.to_string().contains("role `approver`"), "{result}");
    daemon.stop().await;
}

#[tokio::test]
async fn it_is_behind_the_checks_of_every_route() {
    let daemon = TestDaemon::with(with_tools(&[])).await;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(daemon.anybody().post("/mcp", &message).await.status.as_u16(), 401);
    // The protocol requires 403 for an invalid Origin.
    for (name, value, status) in
        [("host", "elsewhere.example", 421), ("origin", "https://elsewhere.example", 403)]
    {
        let elsewhere = daemon.client().with(name, value);
        assert_eq!(elsewhere.post("/mcp", &message).await.status.as_u16(), status);
    }
    // Found by API fuzzing: errors of the protocol layer were plain text.
    let plain = daemon.client();
    let refused =
        [plain.get("/mcp").await, plain.delete("/mcp").await, plain.post("/mcp", &message).await];
    for answer in &refused {
        assert_eq!((answer.status.as_u16(), &*answer.problem()), (400, "bad_request"));
    }
    let viewer = made(&daemon, json!({"name": "v", "roles": ["viewer"]})).await.0;
    let viewer = daemon.anybody().with_token(&viewer);
    assert_eq!(viewer.post("/mcp", &message).await.status.as_u16(), 403);
    daemon.stop().await;
}

/// Lists the state of servers without connecting to them, and without their secrets.
#[tokio::test]
async fn servers_are_listed_with_how_they_stand() {
    let mut plan = with_tools(&[]);
    plan.toolcrib = Box::new(|settings| {
        let program = Stdio {
            command: "no-such-program".to_owned(),
            env: vec![("TOKEN".to_owned(), "very-secret-value".to_owned())],
            ..Stdio::default()
        };
        let name = ServerName::new("gone").unwrap();
        let server = ServerConfig::new(name, Remote::Stdio(program));
        settings.mcp_servers = vec![ServerConfig { enabled: true, ..server }];
    });
    let daemon = TestDaemon::with(plan).await;
    let list = daemon.client().get("/api/v1/mcp/servers").await.expect(200);
    let row = &list["items"][0];
    assert_eq!(
        (&row["name"], &row["transport"], &row["tools"]),
        (&json!("gone"), &json!("stdio"), &json!(0))
    );
    // The server was never reviewed, so it is not started.
    assert_eq!((&row["state"], &row["held"]), (&json!("idle"), &json!([])), "{row}");
    assert!(!list.to_string().contains("very-secret"), "{list}");
    daemon.stop().await;
}

/// Starts a session of an older revision; returns its id.
async fn begin_session(client: &Client) -> String {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let client = client.clone().with("accept", "application/json, text/event-stream");
    let answer = client.post("/mcp", &message).await;
    assert_eq!(answer.status.as_u16(), 200, "{}", answer.text);
    answer.headers["mcp-session-id"].to_str().unwrap().to_owned()
}

/// Returns a client with the headers of a session.
fn in_session(client: &Client, id: &str) -> Client {
    client
        .clone()
        .with("accept", "application/json, text/event-stream")
        .with("mcp-protocol-version", "2025-06-18")
        .with("mcp-session-id", id)
}

/// Regression, found in review: the token of another owner answered an elicitation, read the stream
/// of a session and ended it.
#[tokio::test]
async fn a_session_belongs_to_the_token_that_created_it() {
    let daemon = TestDaemon::with(with_tools(&[])).await;
    let owner = daemon.client();
    let token = made(&daemon, json!({"name": "ben", "roles": ["caller"], "owner": "ben"})).await.0;
    let other = daemon.anybody().with_token(&token);
    let id = begin_session(&owner).await;
    let answer = json!({"jsonrpc": "2.0", "id": 7, "result": {"action": "accept", "content": {}}});
    let intruder = in_session(&other, &id);
    for response in [
        intruder.post("/mcp", &answer).await,
        intruder.get("/mcp").await,
        intruder.delete("/mcp").await,
        in_session(&owner, "unknown").delete("/mcp").await,
    ] {
        assert_eq!((response.status.as_u16(), &*response.problem()), (404, "not_found"));
    }
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(in_session(&owner, &id).post("/mcp", &ready).await.status.as_u16(), 202);
    assert!(in_session(&owner, &id).delete("/mcp").await.status.is_success());
    assert_eq!(in_session(&owner, &id).delete("/mcp").await.status.as_u16(), 404);
    daemon.stop().await;
}

/// Regression, found in review: 4,000 sessions took 230 MB.
#[tokio::test]
async fn sessions_of_a_token_are_bounded() {
    let daemon = TestDaemon::with(with_tools(&[])).await;
    let token = made(&daemon, json!({"name": "agent", "roles": ["caller"]})).await.0;
    let (owner, caller) = (daemon.client(), daemon.anybody().with_token(&token));
    let kept = begin_session(&owner).await;
    let first = begin_session(&caller).await;
    let mut last = first.clone();
    for _ in 0..32 {
        last = begin_session(&caller).await;
    }
    assert_eq!(in_session(&caller, &first).delete("/mcp").await.status.as_u16(), 404);
    for (client, id) in [(&caller, &last), (&owner, &kept)] {
        assert!(in_session(client, id).delete("/mcp").await.status.is_success());
    }
    daemon.stop().await;
}
