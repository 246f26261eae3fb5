//! Calls run in the workspace in which they were requested, even after a restart with another one.

use serde_json::{Value, json};
use toolcrib_app::Preset;
use toolcrib_core::{Decision, DecisionRecord};

use crate::approvals::plan_of;
use crate::support::{Client, Plan, TestDaemon};

const FILE: &str = "notes.md";

/// Returns a plan whose workspace is this folder below the daemon's own.
fn plan_in(folder: &std::path::Path) -> Plan {
    let folder = folder.to_owned();
    let mut plan = plan_of(&[], "turns:\n  - say: Hello.\n");
    plan.toolcrib = Box::new(move |settings| {
        settings.engine.preset = Preset::AskRisky;
        settings.roots = vec![folder];
    });
    plan
}

async fn only(client: &Client) -> Value {
    client.get("/api/v1/approvals").await.expect(200)["items"][0].clone()
}

/// Regression, found in review: an approved `delete_file` deleted the file of the other folder.
#[tokio::test]
async fn an_approved_call_never_runs_in_another_workspace() {
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join(FILE), "of the other").unwrap();
    let daemon = TestDaemon::with(plan_of(&[], "turns:\n  - say: Hello.\n")).await;
    let mine = daemon.workspace().join(FILE);
    std::fs::write(&mine, "mine").unwrap();
    let call = json!({"tool": "delete_file", "arguments": {"path": FILE}});
    let waiting = daemon.client().post("/api/v1/calls", &call).await.expect(202);
    let folder = daemon.stop().await;

    let daemon = TestDaemon::in_folder(folder, plan_in(other.path())).await;
    let question = only(&daemon.client()).await;
    let path = format!("/api/v1/approvals/{}", question["approval"].as_str().unwrap());
    let yes = json!({"decision": "approve", "nonce": question["nonce"]});
    assert_eq!(daemon.client().get(&path).await.expect(200)["goes_on"], "elsewhere");
    let refused = daemon.client().post(&path, &yes).await;
    assert_eq!(refused.problem(), "conflict");
    assert!(refused.text.contains("nothing was decided"), "{}", refused.text);
    assert_eq!(only(&daemon.client()).await["state"], "pending");
    let folder = daemon.stop().await;
    assert!(mine.exists() && other.path().join(FILE).exists());

    let daemon = TestDaemon::in_folder(folder, plan_of(&[], "turns:\n  - say: Hello.\n")).await;
    assert_eq!(daemon.client().post(&path, &yes).await.expect(200)["goes_on"], "call");
    ended(&daemon.client(), &waiting).await;
    assert!(!mine.exists() && other.path().join(FILE).exists());
    daemon.stop().await;
}

/// The decision is stored, the daemon dies before the call starts, and the next daemon has another
/// workspace.
#[tokio::test]
async fn a_decided_call_waits_for_a_daemon_of_its_workspace() {
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join(FILE), "of the other").unwrap();
    let daemon = TestDaemon::with(plan_of(&[], "turns:\n  - say: Hello.\n")).await;
    let mine = daemon.workspace().join(FILE);
    std::fs::write(&mine, "mine").unwrap();
    let call = json!({"tool": "delete_file", "arguments": {"path": FILE}});
    let waiting = daemon.client().post("/api/v1/calls", &call).await.expect(202);
    let id = only(&daemon.client()).await["approval"].as_str().unwrap().parse().unwrap();
    let approvals = &daemon.toolcrib.stores().approvals;
    let (question, _) = approvals.get(id).await.unwrap().unwrap();
    daemon.toolcrib.engine().promise(&question).await.unwrap();
    let decided_by = "ann".to_owned();
    let yes = DecisionRecord { decision: Decision::approve(), decided_by, decided_at: 1 };
    approvals.decide(id, yes).await.unwrap().unwrap();
    let folder = daemon.stop().await;

    let daemon = TestDaemon::in_folder(folder, plan_in(other.path())).await;
    let found = daemon.toolcrib.engine().recover().await.unwrap();
    assert!(found.batches.is_empty(), "{found:?}");
    let folder = daemon.stop().await;
    assert!(mine.exists() && other.path().join(FILE).exists());

    let daemon = TestDaemon::in_folder(folder, plan_of(&[], "turns:\n  - say: Hello.\n")).await;
    ended(&daemon.client(), &waiting).await;
    assert!(!mine.exists() && other.path().join(FILE).exists());
    daemon.stop().await;
}

/// Waits until the call has succeeded.
async fn ended(client: &Client, waiting: &Value) {
    let path = format!("/api/v1/calls/{}?wait_ms=10000", waiting["call"].as_str().unwrap());
    loop {
        let answer = client.get(&path).await.json();
        match answer["status"].as_str().unwrap() {
            "waiting" | "running" => tokio::task::yield_now().await,
            status => return assert_eq!(status, "succeeded", "{answer}"),
        }
    }
}
