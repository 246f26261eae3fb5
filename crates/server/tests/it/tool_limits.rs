//! A token that is limited to some tools: its access to data, decisions and changes besides calls.

use hyper::Method;
use serde_json::{Value, json};
use toolcrib_server::{ToolLimit, operations};

use crate::approvals::{plan_of, risky};
use crate::support::{Client, TestDaemon};

const SCRIPT: &str = "turns:\n  - say: Hello.\n";

async fn token(daemon: &TestDaemon, name: &str, roles: Value, tools: Value) -> Client {
    let wanted = json!({"name": name, "roles": roles, "tools": tools});
    let made = daemon.client().post("/api/v1/tokens", &wanted).await.expect(201);
    daemon.anybody().with_token(made["token"].as_str().unwrap())
}

/// Regression, found in review: the limit applied to calls only.
#[tokio::test]
async fn a_limited_token_is_refused_where_a_route_acts_on_all_tools() {
    let daemon = TestDaemon::with(plan_of(&[], SCRIPT)).await;
    let limited = token(&daemon, "limited", json!(["owner"]), json!(["read_file"])).await;
    let mut refused = 0;
    for one in operations() {
        let ToolLimit::Refused(why) = one.tool_limit() else { continue };
        let path = one.full_path().replace(['{', '}'], "");
        let body = json!([]);
        let body = (one.method != Method::GET).then_some(&body);
        let answer = limited.send(one.method.clone(), &path, body).await;
        assert_eq!(answer.problem(), "forbidden", "{} {path}", one.method);
        assert!(answer.text.contains(why), "{}", answer.text);
        refused += 1;
    }
    assert!(refused > 15, "{refused}");
    daemon.stop().await;
}

/// Regression, found in review: a token of one tool decided about the calls of another, and created
/// grants for it.
#[tokio::test]
async fn a_limited_token_decides_about_its_own_tools_only() {
    let (tool, other) =
        (risky(), std::sync::Arc::new(toolcrib_testkit::ScriptedTool::new("other")));
    let daemon = TestDaemon::with(plan_of(&[&tool, &other], SCRIPT)).await;
    let limited = token(&daemon, "limited", json!(["approver"]), json!(["other"])).await;
    let fitting = token(&daemon, "fitting", json!(["approver"]), json!(["risk*"])).await;
    let owner = daemon.client();
    let call = json!({"tool": "risky", "arguments": {"what": "door"}});
    let waiting = owner.post("/api/v1/calls", &call).await.expect(202);
    let question = owner.get("/api/v1/approvals").await.expect(200)["items"][0].clone();
    let path = format!("/api/v1/approvals/{}", question["approval"].as_str().unwrap());
    let nonce = &question["nonce"];
    assert_eq!(limited.get("/api/v1/approvals").await.expect(200)["items"], json!([]));
    assert_eq!(limited.get("/api/v1/approvals?state=all").await.expect(200)["items"], json!([]));
    assert_eq!(limited.get(&path).await.problem(), "forbidden");
    for body in [
        json!({"decision": "approve", "scope": "always", "nonce": nonce}),
        json!({"decision": "edit", "args": {"what": "all"}, "nonce": nonce}),
        json!({"decision": "deny", "nonce": nonce}),
    ] {
        assert_eq!(limited.post(&path, &body).await.problem(), "forbidden", "{body}");
    }
    let call = format!("/api/v1/calls/{}", waiting["call"].as_str().unwrap());
    assert_eq!(limited.get(&call).await.problem(), "forbidden");
    assert_eq!(limited.get(&format!("{call}/explain")).await.problem(), "forbidden");
    let always = json!({"decision": "approve", "scope": "always", "nonce": nonce});
    fitting.post(&path, &always).await.expect(200);
    let grants = owner.get("/api/v1/grants").await.expect(200);
    let grant = format!("/api/v1/grants/{}", grants["items"][0]["id"].as_str().unwrap());
    assert_eq!(limited.get("/api/v1/grants").await.expect(200)["items"], json!([]));
    assert_eq!(limited.delete(&grant).await.problem(), "forbidden");
    fitting.delete(&grant).await.expect(200);
    daemon.stop().await;
}

/// Regression, found in review: a token of one tool switched others off, and read results that
/// others had stored.
#[tokio::test]
async fn a_limited_token_switches_and_reads_for_its_own_tools_only() {
    let daemon = TestDaemon::with(plan_of(&[], SCRIPT)).await;
    let limited = token(&daemon, "limited", json!(["owner"]), json!(["read_file"])).await;
    let state = json!({"state": "off"});
    for name in ["tool:write_file", "group:files", "feature:code_execution"] {
        let answer = limited.put(&format!("/api/v1/switches/{name}"), &state).await;
        assert_ne!(answer.status, 200, "{name}: {}", answer.text);
    }
    limited.put("/api/v1/switches/tool:read_file", &state).await.expect(200);
    limited.delete("/api/v1/switches/tool:read_file").await.expect(200);
    limited.put("/api/v1/kill-switch", &json!({})).await.expect(200);
    assert_eq!(limited.delete("/api/v1/kill-switch").await.problem(), "forbidden");
    daemon.stop().await;
}

/// A limited token cannot see results of other tools: neither runs of others nor their
/// conversations.
#[tokio::test]
async fn a_limited_token_reads_its_own_runs_only() {
    let daemon = TestDaemon::with(plan_of(&[], SCRIPT)).await;
    let limited = token(&daemon, "limited", json!(["caller"]), json!(["read_file"])).await;
    let body = json!({"text": "private words", "wait": true});
    let run = daemon.client().post("/api/v1/runs", &body).await.expect(200);
    let path = format!("/api/v1/runs/{}", run["run"].as_str().unwrap());
    assert_eq!(limited.get(&path).await.problem(), "forbidden");
    assert_eq!(limited.get(&format!("{path}/events")).await.problem(), "forbidden");
    let list = limited.get("/api/v1/runs").await;
    assert!(!list.text.contains("private words"), "{}", list.text);
    let on = json!({"text": "go on", "conversation": run["conversation"]});
    assert_eq!(limited.post("/api/v1/runs", &on).await.problem(), "forbidden");
    let own = limited.post("/api/v1/runs", &body).await.expect(200);
    let path = format!("/api/v1/runs/{}", own["run"].as_str().unwrap());
    limited.get(&path).await.expect(200);
    let on = json!({"text": "go on", "conversation": own["conversation"], "wait": true});
    limited.post("/api/v1/runs", &on).await.expect(200);
    daemon.stop().await;
}
