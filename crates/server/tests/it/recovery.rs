//! The next daemon continues the work of a stopped one; and two daemons on one database never drive
//! the same run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_app::{Preset, Stores};
use toolcrib_core::store::AcceptedBatch;
use toolcrib_core::{
    BatchId, Clock as _, Decision, DecisionRecord, Effect, RESTORABLE_MS, SystemClock,
};

use crate::runs::{Gate, ONE_CALL, begun, stands};
use crate::support::{Plan, TestDaemon};

/// Test R1 of reliability.md: a daemon that is stopped under load loses no run; the next one ends
/// each of them exactly once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_under_load_loses_no_run() {
    const RUNS: usize = 12;
    let script = "turns:
  - say: One.
    calls: [{tool: gate, args: {}}]
  - say: Two.
    calls: [{tool: gate, args: {}}]
  - say: Done.
";
    let gate = Gate::new("gate", Effect::SideEffect);
    let daemon = TestDaemon::with(gate.plan(script)).await;
    let client = daemon.client();
    let mut runs = Vec::new();
    for run in 0..RUNS {
        runs.push(begun(&client, &json!({"text": format!("run {run}")})).await);
    }
    gate.began(RUNS as u32).await;
    // Stopping waits for the running calls; each run is paused after its first one.
    daemon.daemon.stop();
    gate.open(RUNS);
    let folder = daemon.stop().await;
    assert_eq!(gate.tool.runs(), RUNS, "nothing new was begun");
    let daemon = TestDaemon::in_folder(folder, gate.plan(script)).await;
    let client = daemon.client();
    gate.open(RUNS);
    for run in &runs {
        let view = stands(&client, run, "ended").await;
        assert_eq!((&view["status"], &view["text"]), (&json!("completed"), &json!("Done.")));
        let outputs = view["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|item| item["state"] == "output-available");
        assert_eq!(outputs.count(), 2);
    }
    assert_eq!(gate.tool.runs(), 2 * RUNS, "each call ran once");
    daemon.stop().await;
}

/// A call takes longer than the drain time of the daemon: the run is released, and the model learns
/// that the outcome is unknown.
#[tokio::test]
async fn a_call_that_outlasts_the_drain_is_not_run_again() {
    let gate = Gate::new("gate", Effect::SideEffect);
    let mut plan = gate.plan(ONE_CALL);
    plan.daemon = Box::new(|settings| settings.drain = Duration::from_millis(20));
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    gate.began(1).await;
    let folder = daemon.stop().await;
    let daemon = TestDaemon::in_folder(folder, gate.plan(ONE_CALL)).await;
    let view = stands(&daemon.client(), &run, "ended").await;
    let call =
        view["items"].as_array().unwrap().iter().find(|item| item["item"] == "call").unwrap();
    assert_eq!(call["outcome"], "unknown", "{call}");
    assert_eq!(gate.tool.runs(), 1);
    assert_eq!(view["text"], "Done.");
    daemon.stop().await;
}

/// Test R2 of reliability.md: a question waits across a restart; after the decision, the new daemon
/// continues.
#[tokio::test]
async fn a_question_is_decided_after_a_restart() {
    let gate = Gate::new("gate", Effect::SideEffect);
    let plan = || {
        let mut plan = gate.plan(ONE_CALL);
        plan.toolcrib = Box::new(|settings| settings.engine.preset = Preset::AskAll);
        plan
    };
    let daemon = TestDaemon::with(plan()).await;
    let run = begun(&daemon.client(), &json!({"text": "go"})).await;
    stands(&daemon.client(), &run, "paused").await;
    let folder = daemon.stop().await;
    let daemon = TestDaemon::in_folder(folder, plan()).await;
    let client = daemon.client();
    let list = client.get("/api/v1/approvals").await.expect(200);
    let question = &list["items"][0];
    let path = format!("/api/v1/approvals/{}", question["approval"].as_str().unwrap());
    gate.open(1);
    let body = json!({"decision": "approve", "nonce": question["nonce"]});
    client.post(&path, &body).await.expect(200);
    assert_eq!(stands(&client, &run, "ended").await["text"], "Done.");
    assert_eq!(gate.tool.runs(), 1);
    daemon.stop().await;
}

/// Two daemons share one database: each sees the other's runs, and only one drives each run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_daemons_do_not_work_on_the_same_run() {
    let gate = Gate::new("gate", Effect::SideEffect);
    let one = TestDaemon::with(gate.plan(ONE_CALL)).await;
    let two = TestDaemon::in_folder(one.shared(), gate.plan(ONE_CALL)).await;
    let there = two.client();
    let run = begun(&one.client(), &json!({"text": "go"})).await;
    gate.began(1).await;
    // After several scans of the other daemon, the run still belongs to the first.
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(gate.tool.runs(), 1);
    let seen = there.get(&format!("/api/v1/runs/{run}")).await.expect(200);
    assert_eq!(seen["state"], "running");
    let steer = there.post(&format!("/api/v1/runs/{run}/steer"), &json!({"text": "x"})).await;
    assert_eq!(steer.problem(), "conflict");
    let body = json!({"text": "more", "conversation": seen["conversation"]});
    assert_eq!(there.post("/api/v1/runs", &body).await.problem(), "conflict");
    gate.open(1);
    assert_eq!(stands(&there, &run, "ended").await["text"], "Done.");
    assert_eq!(gate.tool.runs(), 1);
    // The second daemon takes the runs that the first one leaves.
    let left = begun(&one.client(), &json!({"text": "again"})).await;
    gate.began(1).await;
    one.daemon.stop();
    gate.open(1);
    let _ = one.stop().await;
    let view: Value = stands(&there, &left, "ended").await;
    assert_eq!((&view["status"], &view["text"]), (&json!("completed"), &json!("Done.")));
    two.stop().await;
}

/// A daemon stops a run that another daemon drives by taking it over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_stopped_from_another_daemon() {
    let gate = Gate::new("gate", Effect::SideEffect);
    let one = TestDaemon::with(gate.plan(ONE_CALL)).await;
    let two = TestDaemon::in_folder(one.shared(), gate.plan(ONE_CALL)).await;
    let there = two.client();
    let run = begun(&one.client(), &json!({"text": "go"})).await;
    gate.began(1).await;
    let stopped = there.post(&format!("/api/v1/runs/{run}/stop"), &json!({})).await.expect(200);
    assert_eq!(stopped["status"], "stopped");
    gate.open(1);
    // The first daemon finds that it lost the run, and makes no further request to a model.
    while one.daemon.active_runs() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let view = one.client().get(&format!("/api/v1/runs/{run}")).await.expect(200);
    assert_eq!(view["status"], "stopped");
    two.stop().await;
    one.stop().await;
}

/// A daemon died between a decision about a single call and the call: the next daemon runs the
/// call.
#[tokio::test]
async fn a_call_that_was_decided_about_is_carried_out_after_a_crash() {
    let gate = Gate::new("gate", Effect::SideEffect);
    let plan = || {
        let mut plan = gate.plan(ONE_CALL);
        plan.toolcrib = Box::new(|settings| settings.engine.preset = Preset::AskAll);
        plan
    };
    let daemon = TestDaemon::with(plan()).await;
    let call = json!({"tool": "gate", "arguments": {}});
    let waiting = daemon.client().post("/api/v1/calls", &call).await.expect(202);
    let call = waiting["call"].as_str().unwrap().to_owned();
    let folder = daemon.stop().await;
    // The steps of a daemon until the decision, and none after it.
    {
        let stores = Stores::open(Some(&folder.path().join("state/toolcrib.db"))).unwrap();
        let epoch = stores.calls.claim().await.unwrap();
        let found = stores.approvals.for_call(call.parse().unwrap()).await.unwrap();
        let (waiting, _) = found.unwrap();
        let (id, accepted_at) = (BatchId::fresh(), 1);
        let batch = AcceptedBatch { id, key: None, batch: waiting.batch, accepted_at, epoch };
        stores.calls.accept(batch).await.unwrap();
        let (decision, decided_by) = (Decision::approve(), "ann".to_owned());
        let record = DecisionRecord { decision, decided_by, decided_at: 1 };
        stores.approvals.decide(waiting.request.id, record).await.unwrap().unwrap();
        stores.calls.release(epoch).await.unwrap();
    }
    let daemon = TestDaemon::in_folder(folder, plan()).await;
    gate.began(1).await;
    gate.open(1);
    let client = daemon.client();
    loop {
        let found = client.get(&format!("/api/v1/calls/{call}?wait_ms=1000")).await.json();
        if found["status"] == "succeeded" {
            break;
        }
        assert!(["waiting", "running"].contains(&found["status"].as_str().unwrap()), "{found}");
    }
    assert_eq!(gate.tool.runs(), 1);
    daemon.stop().await;
}

/// A daemon removes deleted conversations for good after their 30 days, without a request.
#[tokio::test]
async fn an_expired_deleted_conversation_is_purged_by_the_daemon() {
    let plan = || Plan { script: "turns: [{say: Hello.}]".into(), ..Plan::default() };
    let daemon = TestDaemon::with(plan()).await;
    let run = json!({"text": "Hi", "wait": true});
    let run = daemon.client().post("/api/v1/runs", &run).await.expect(200);
    let id = run["conversation"].as_str().unwrap().parse().unwrap();
    let long_ago = SystemClock.now_ms() - RESTORABLE_MS - 1;
    let runs = Arc::clone(&daemon.toolcrib.stores().runs);
    let owner = runs.conversation(id).await.unwrap().unwrap().owner;
    runs.trash_conversation(&owner, id, long_ago).await.unwrap();
    assert_eq!(runs.deleted_conversations(&owner, 9).await.unwrap().len(), 1);
    drop(runs);
    let folder = daemon.stop().await;
    let daemon = TestDaemon::in_folder(folder, plan()).await;
    let runs = Arc::clone(&daemon.toolcrib.stores().runs);
    let purged = async {
        while !runs.deleted_conversations(&owner, 9).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), purged).await.unwrap();
    daemon.stop().await;
}

/// A run continues when the client that waits for it disconnects.
#[tokio::test]
async fn a_run_goes_on_without_its_client() {
    let gate = Gate::new("gate", Effect::SideEffect);
    let daemon = TestDaemon::with(gate.plan(ONE_CALL)).await;
    let client = daemon.client();
    let body = json!({"text": "go", "wait": true});
    {
        let asking = client.post("/api/v1/runs", &body);
        tokio::select! {
            answer = asking => panic!("{}", answer.text),
            () = gate.began(1) => {}
        }
    }
    gate.open(1);
    let list = client.get("/api/v1/runs").await.expect(200);
    let run = list["items"][0]["run"].as_str().unwrap().to_owned();
    assert_eq!(stands(&client, &run, "ended").await["text"], "Done.");
    assert_eq!(gate.tool.runs(), 1);
    daemon.stop().await;
}
