//! Several people on one daemon: a token of another owner neither sees nor changes anything of the
//! first owner, at any route.

use serde_json::{Value, json};
use toolcrib_testkit::ScriptedTool;

use crate::approvals::{self, ONE};
use crate::runs::{begun, stands};
use crate::support::{Client, Events, TestDaemon};

/// The objects of the first owner: a run that waits, its question, a call, a conversation and a
/// stored result.
struct Things {
    run: String,
    conversation: String,
    approval: String,
    nonce: Value,
    call: String,
    artifact: String,
}

/// Creates all objects over HTTP.
async fn made(client: &Client) -> Things {
    let long = client.post("/api/v1/calls", &json!({"tool": "long"})).await.expect(200);
    let run = begun(client, &json!({"text": "go"})).await;
    let view = stands(client, &run, "paused").await;
    let question = client.get("/api/v1/approvals").await.expect(200)["items"][0].clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Things {
        conversation: text(&view["conversation"]),
        run,
        approval: text(&question["approval"]),
        nonce: question["nonce"].clone(),
        call: text(&long["call"]),
        artifact: text(&long["artifact"]),
    }
}

async fn daemon() -> TestDaemon {
    let text = "a long line of text\n".repeat(5_000);
    let output = toolcrib_core::ToolOutput::text(text);
    let long = std::sync::Arc::new(ScriptedTool::new("long").returns(output));
    let risky = approvals::risky();
    TestDaemon::with(approvals::plan_of(&[&risky, &long], ONE)).await
}

/// Creates a client of another owner, with every role that another owner may have.
async fn somebody(daemon: &TestDaemon) -> Client {
    let body = json!({"name": "s", "owner": "somebody", "roles": ["viewer", "caller", "approver"]});
    let (token, _) = crate::tokens::made(daemon, body).await;
    daemon.anybody().with_token(&token)
}

#[tokio::test]
async fn lists_of_another_owner_are_empty() {
    let daemon = daemon().await;
    let owner = daemon.client();
    let things = made(&owner).await;
    let other = somebody(&daemon).await;
    for list in [
        "calls",
        "runs",
        "approvals",
        "approvals?state=all",
        "conversations",
        "artifacts",
        "usage?by=tool",
        "usage",
        "audit?kind=settled",
    ] {
        let path = format!("/api/v1/{list}");
        assert_ne!(owner.get(&path).await.expect(200)["items"], json!([]), "{list}");
        assert_eq!(other.get(&path).await.expect(200)["items"], json!([]), "{list}");
    }
    let mut events = Events::open(&other, "/api/v1/events", None).await;
    let first = events.next().await.unwrap();
    assert_eq!((&first.data["runs"], &first.data["approvals"]), (&json!([]), &json!([])));
    // Nor does the stream contain the events that follow.
    let body = json!({"decision": "approve", "nonce": things.nonce});
    owner.post(&format!("/api/v1/approvals/{}", things.approval), &body).await.expect(200);
    stands(&owner, &things.run, "ended").await;
    let mine = begun(&other, &json!({"text": "mine"})).await;
    assert_eq!(events.until("run").await.data["run"], json!(mine));
    daemon.stop().await;
}

/// Objects of another owner are reported as not found, so that nothing reveals their existence.
#[tokio::test]
async fn what_is_anothers_is_not_found() {
    let daemon = daemon().await;
    let owner = daemon.client();
    let things = made(&owner).await;
    let Things { run, conversation, approval, nonce, call, artifact } = &things;
    let other = somebody(&daemon).await;
    for path in [
        format!("runs/{run}"),
        format!("runs/{run}/events"),
        format!("approvals/{approval}"),
        format!("calls/{call}"),
        format!("calls/{call}/explain"),
        format!("conversations/{conversation}"),
        format!("conversations/{conversation}/messages"),
        format!("artifacts/{artifact}"),
        format!("artifacts/{artifact}/content"),
    ] {
        let path = format!("/api/v1/{path}");
        assert_eq!(other.get(&path).await.problem(), "not_found", "{path}");
        // The owner's streams do not end in this test.
        if !path.ends_with("/events") {
            assert_eq!(owner.get(&path).await.status, 200, "{path}");
        }
    }
    let page = other.get(&format!("/api/v1/artifacts/{artifact}/page")).await;
    assert!(!page.status.is_success() && !page.text.contains("long line"), "{}", page.text);
    for (path, body) in [
        (format!("runs/{run}/stop"), json!({})),
        (format!("runs/{run}/resume"), json!({})),
        (format!("runs/{run}/steer"), json!({"text": "x"})),
        (format!("calls/{call}/cancel"), json!({})),
        (format!("approvals/{approval}"), json!({"decision": "approve", "nonce": nonce})),
        ("runs".to_owned(), json!({"text": "x", "conversation": conversation})),
        ("calls".to_owned(), json!({"tool": "long", "conversation": conversation})),
        (
            "calls/batch".to_owned(),
            json!({"calls": [{"tool": "long"}], "conversation": conversation}),
        ),
        (
            "tools/long/test".to_owned(),
            json!({"arguments": {}, "dry_run": true, "conversation": conversation}),
        ),
    ] {
        let answer = other.post(&format!("/api/v1/{path}"), &body).await;
        assert_eq!(answer.problem(), "not_found", "{path}");
    }
    // Only operators delete, and another owner cannot have that role.
    let answer = other.delete(&format!("/api/v1/conversations/{conversation}")).await;
    assert_eq!(answer.problem(), "forbidden");
    // The run was not changed.
    assert_eq!(stands(&owner, run, "paused").await["status"], "approval_needed");
    let waiting = owner.get(&format!("/api/v1/approvals/{approval}")).await.expect(200);
    assert_eq!(waiting["state"], "pending");
    daemon.stop().await;
}

/// The same key of two owners identifies two requests.
#[tokio::test]
async fn keys_of_two_owners_do_not_meet() {
    let daemon = daemon().await;
    let (owner, other) = (daemon.client(), somebody(&daemon).await);
    let mut calls = Vec::new();
    for client in [owner, other] {
        let keyed = client.with("idempotency-key", "the same");
        let answer = keyed.post("/api/v1/calls", &json!({"tool": "long"})).await.expect(200);
        calls.push(answer["call"].clone());
    }
    assert_ne!(calls[0], calls[1]);
    daemon.stop().await;
}
