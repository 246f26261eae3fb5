//! Switches over HTTP, on one daemon and on several.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use toolcrib_app::SWITCH_CACHE_TTL;
use toolcrib_core::Effect;
use toolcrib_testkit::ScriptedTool;

use crate::calls::{Gate, with_tools};
use crate::support::{Client, Plan, TestDaemon};

const CALLS: &str = "/api/v1/calls";

fn call(tool: &str) -> Value {
    json!({"tool": tool})
}

fn tool(name: &str, group: &str) -> Arc<ScriptedTool> {
    Arc::new(ScriptedTool::new(name).spec(|spec| spec.group = Some(group.to_owned())))
}

async fn set(client: &Client, name: &str, state: &str) -> Value {
    client.put(&format!("/api/v1/switches/{name}"), &json!({"state": state})).await.expect(200)
}

#[tokio::test]
async fn a_tool_is_switched_off_asked_about_and_back() {
    let (a, b) = (tool("a", "letters"), tool("b", "letters"));
    let daemon = TestDaemon::with(Plan { durable: true, ..with_tools(&[&a, &b]) }).await;
    let client = daemon.client();
    let row = set(&client, "tool:a", "off").await;
    assert_eq!((&row["state"], &row["by"]), (&json!("off"), &json!("owner")));
    assert_eq!(client.post(CALLS, &call("a")).await.expect(403)["error_type"], "tool_disabled");
    set(&client, "tool:a", "ask").await;
    client.post(CALLS, &call("a")).await.expect(202);
    let reset = client.delete("/api/v1/switches/tool:a").await.expect(200);
    assert_eq!(reset["state"], Value::Null);
    client.post(CALLS, &call("a")).await.expect(200);
    // The tools of a group that is switched on again have their previous state.
    set(&client, "tool:b", "off").await;
    let group = set(&client, "group:letters", "off").await;
    assert_eq!((&group["tools"], &group["on"]), (&json!(2), &json!(0)));
    client.post(CALLS, &call("a")).await.expect(403);
    set(&client, "group:letters", "on").await;
    client.post(CALLS, &call("a")).await.expect(200);
    client.post(CALLS, &call("b")).await.expect(403);
    let all = client.get("/api/v1/switches").await.expect(200);
    let of = |name: &str| {
        all["items"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
    };
    assert_eq!(of("tool:b")["state"], "off");
    assert_eq!(of("tool:a")["state"], Value::Null);
    assert_eq!(of("source:test")["tools"], 2);
    // Switches survive a restart.
    let folder = daemon.stop().await;
    let plan = Plan { durable: true, ..with_tools(&[&a, &b]) };
    let daemon = TestDaemon::in_folder(folder, plan).await;
    daemon.client().post(CALLS, &call("b")).await.expect(403);
    daemon.stop().await;
}

#[tokio::test]
async fn what_cannot_be_switched_is_refused() {
    let daemon = TestDaemon::with(with_tools(&[])).await;
    let client = daemon.client();
    let check = async |name: &str, state: &str, code: &str| {
        let answer =
            client.put(&format!("/api/v1/switches/{name}"), &json!({"state": state})).await;
        assert_eq!(answer.problem(), code, "{name} {state}");
    };
    check("tool:nothing", "off", "not_found").await;
    check("group:nothing", "off", "not_found").await;
    check("planet:mars", "off", "not_found").await;
    check("tools", "off", "invalid").await;
    check("source:builtin", "ask", "conflict").await;
    check("tool:read_file", "maybe", "bad_request").await;
    assert_eq!(client.delete("/api/v1/switches/tools").await.problem(), "invalid");
    assert_eq!(client.delete("/api/v1/switches/tool:nothing").await.problem(), "not_found");
    let made =
        client.post("/api/v1/tokens", &json!({"name": "c", "roles": ["caller", "approver"]})).await;
    let caller = daemon.anybody().with_token(made.expect(201)["token"].as_str().unwrap());
    let answer = caller.put("/api/v1/switches/tool:read_file", &json!({"state": "off"})).await;
    assert_eq!(answer.problem(), "forbidden");
    assert_eq!(caller.put("/api/v1/kill-switch", &json!({})).await.problem(), "forbidden");
    daemon.stop().await;
}

/// Starts another daemon on the same database: with a separate state folder, as on another machine,
/// or with the same one.
async fn beside(daemon: &TestDaemon, plan: Plan, own_state: bool) -> TestDaemon {
    let elsewhere = daemon.folder().join("elsewhere");
    let plan = Plan {
        durable: true,
        toolcrib: Box::new(move |settings| {
            if own_state {
                settings.state = elsewhere;
            }
        }),
        ..plan
    };
    TestDaemon::in_folder(daemon.shared(), plan).await
}

#[tokio::test]
async fn what_one_daemon_switches_holds_on_the_other() {
    let (here, there) = (tool("a", "letters"), tool("a", "letters"));
    let daemon = TestDaemon::with(Plan { durable: true, ..with_tools(&[&here]) }).await;
    let other = beside(&daemon, with_tools(&[&there]), true).await;
    let (client, far) = (daemon.client(), other.client());
    far.post(CALLS, &call("a")).await.expect(200);
    set(&client, "tool:a", "off").await;
    // Each poll ends soon; without a watcher, the test fails by its timeout.
    while far.post(CALLS, &call("a")).await.status != 403 {}
    client.delete("/api/v1/switches/tool:a").await.expect(200);
    while far.post(CALLS, &call("a")).await.status != 200 {}
    other.stop().await;
    daemon.stop().await;
}

/// Makes calls as fast as possible until told to stop.
async fn hammer(client: &Client, over: &AtomicBool) -> (usize, usize) {
    let (mut ran, mut refused) = (0, 0);
    while !over.load(Ordering::SeqCst) {
        match client.post(CALLS, &call("write")).await.status.as_u16() {
            200 => ran += 1,
            // The call was stopped while it ran.
            499 => {}
            // A busy machine: the request waited too long to be admitted, and nothing started.
            503 => {}
            403 => refused += 1,
            other => panic!("{other}"),
        }
    }
    (ran, refused)
}

/// Two daemons share one database, under load: once the kill switch is acknowledged, no call
/// starts.
async fn no_call_starts_after_the_kill_switch(own_state: bool) {
    let writes =
        || Arc::new(ScriptedTool::new("write").spec(|spec| spec.effect = Effect::SideEffect));
    let (here, there) = (writes(), writes());
    let gate = Gate::new("gate");
    let plan = Plan { durable: true, ..with_tools(&[&here, &gate.tool]) };
    let daemon = TestDaemon::with(plan).await;
    let other = beside(&daemon, with_tools(&[&there]), own_state).await;
    let (client, far) = (daemon.client(), other.client());
    let at_work = tokio::spawn({
        let client = client.clone();
        async move { client.post(CALLS, &call("gate")).await }
    });
    gate.has_begun().await;
    let over = AtomicBool::new(false);
    let load = async {
        let both = [&client, &far];
        join_all((0..8).map(|n| hammer(both[n % 2], &over))).await
    };
    let kill = async {
        while here.runs() < 20 || there.runs() < 20 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let body = json!({"reason": "a test", "stop_running": true});
        let stopped = client.put("/api/v1/kill-switch", &body).await.expect(200);
        let acknowledged = (here.runs(), there.runs());
        // Both get many more requests.
        for _ in 0..50 {
            client.post(CALLS, &call("write")).await.expect(403);
            far.post(CALLS, &call("write")).await.expect(403);
        }
        over.store(true, Ordering::SeqCst);
        (stopped, acknowledged)
    };
    let (counts, (stopped, acknowledged)) = tokio::join!(load, kill);
    assert_eq!(
        (here.runs(), there.runs()),
        acknowledged,
        "nothing starts after the acknowledgement"
    );
    assert!(counts.iter().all(|(ran, _)| *ran > 0));
    let calls = stopped["calls"].as_array().unwrap();
    let gate_call = calls.iter().find(|call| call["tool"] == "gate").unwrap();
    assert_eq!(gate_call["status"], "cancelled");
    assert_eq!((&stopped["engaged"], &stopped["reason"]), (&json!(true), &json!("a test")));
    at_work.await.unwrap().expect(499);
    assert_eq!(client.get("/api/v1/status").await.expect(200)["tools_enabled"], false);
    // The kill switch survives a restart, and only a person releases it.
    other.stop().await;
    let folder = daemon.stop().await;
    let daemon =
        TestDaemon::in_folder(folder, Plan { durable: true, ..with_tools(&[&here]) }).await;
    let client = daemon.client();
    client.post(CALLS, &call("write")).await.expect(403);
    let released = client.delete("/api/v1/kill-switch").await.expect(200);
    assert_eq!(released["engaged"], false);
    client.post(CALLS, &call("write")).await.expect(200);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_starts_after_the_kill_switch_on_one_machine() {
    no_call_starts_after_the_kill_switch(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_starts_after_the_kill_switch_on_two_machines() {
    no_call_starts_after_the_kill_switch(true).await;
}

#[tokio::test]
async fn calls_at_work_may_run_to_their_end() {
    let gate = Gate::new("gate");
    let daemon = TestDaemon::with(with_tools(&[&gate.tool])).await;
    let client = daemon.client();
    let at_work = tokio::spawn({
        let client = client.clone();
        async move { client.post(CALLS, &call("gate")).await }
    });
    gate.has_begun().await;
    let stopped =
        client.put("/api/v1/kill-switch", &json!({"stop_running": false})).await.expect(200);
    assert_eq!(stopped["calls"][0]["status"], "running");
    client.post(CALLS, &call("gate")).await.expect(403);
    gate.let_go(1);
    at_work.await.unwrap().expect(200);
    client.delete("/api/v1/kill-switch").await.expect(200);
    daemon.stop().await;
}

/// The file alone, as `touch` creates it, also stops running calls.
#[tokio::test]
async fn a_stop_file_that_a_program_creates_stops_everything() {
    let gate = Gate::new("gate");
    let daemon = TestDaemon::with(with_tools(&[&gate.tool])).await;
    let client = daemon.client();
    let at_work = tokio::spawn({
        let client = client.clone();
        async move { client.post(CALLS, &call("gate")).await }
    });
    gate.has_begun().await;
    std::fs::write(daemon.folder().join("state/STOP"), "").unwrap();
    at_work.await.unwrap().expect(499);
    let shown = client.get("/api/v1/kill-switch").await.expect(200);
    assert_eq!(
        (&shown["engaged"], &shown["file"], &shown["row"]),
        (&json!(true), &json!(true), &json!(false))
    );
    client.delete("/api/v1/kill-switch").await.expect(200);
    daemon.stop().await;
}

/// Regression, found in review: every answer waited for daemons of other machines, even if there
/// are none.
#[tokio::test]
async fn the_kill_switch_waits_for_nothing_if_the_store_is_not_shared() {
    let mut plan = with_tools(&[]);
    plan.daemon = Box::new(|settings| settings.store_is_shared = false);
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let mut fastest = Duration::MAX;
    for _ in 0..10 {
        let begun = Instant::now();
        client.put("/api/v1/kill-switch", &json!({})).await.expect(200);
        fastest = fastest.min(begun.elapsed());
        client.delete("/api/v1/kill-switch").await.expect(200);
    }
    assert!(fastest < SWITCH_CACHE_TTL, "{fastest:?}");
    daemon.stop().await;
}
