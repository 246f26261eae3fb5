//! Calls over HTTP: starting, waiting, looking up and cancelling them; idempotency keys; fairness
//! between clients.

use std::sync::Arc;

use futures_util::future::join_all;
use hyper::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolcrib_core::{Effect, ErrorType, Risk, ToolError, ToolOutput};
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::support::{Plan, TestDaemon};

/// A tool that reports its start and then waits for permission to continue.
pub(crate) struct Gate {
    pub(crate) tool: Arc<ScriptedTool>,
    begun: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new(name: &str) -> Self {
        let (begun, open) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (tell, wait) = (Arc::clone(&begun), Arc::clone(&open));
        let tool = ScriptedTool::new(name).spec(|spec| spec.effect = Effect::SideEffect);
        let tool = tool.does(move |ctx, _| {
            let (tell, wait, cancel) = (Arc::clone(&tell), Arc::clone(&wait), ctx.cancel.clone());
            Box::pin(async move {
                tell.add_permits(1);
                tokio::select! {
                    permit = wait.acquire() => permit.unwrap().forget(),
                    () = cancel.cancelled() => {
                        return Err(ToolError::new(ErrorType::Cancelled, "Stopped."));
                    }
                }
                Ok(ToolOutput::text("let through"))
            })
        });
        Self { tool: Arc::new(tool), begun, open }
    }

    /// Waits until one more call has started.
    pub(crate) async fn has_begun(&self) {
        self.begun.acquire().await.unwrap().forget();
    }

    pub(crate) fn let_go(&self, calls: usize) {
        self.open.add_permits(calls);
    }
}

pub(crate) fn with_tools(tools: &[&Arc<ScriptedTool>]) -> Plan {
    let source = fixed_source("test", tools);
    Plan {
        builder: Box::new(move |builder| builder.source(source)),
        daemon: Box::new(|settings| settings.requests_per_minute = 1_000_000),
        ..Plan::default()
    }
}

fn call(tool: &str) -> Value {
    json!({"tool": tool, "arguments": {}})
}

#[tokio::test]
async fn a_call_is_answered_and_found_by_its_id() {
    let tool = Arc::new(ScriptedTool::new("greet").returns(ToolOutput::text("hello")));
    let daemon = TestDaemon::with(Plan { durable: true, ..with_tools(&[&tool]) }).await;
    let client = daemon.client();
    let answer = client.post("/api/v1/calls", &call("greet")).await;
    let done = answer.expect(200);
    assert_eq!((&done["status"], &done["result"]), (&json!("succeeded"), &json!("hello")));
    let place = answer.headers["location"].to_str().unwrap();
    let found = client.get(place).await.expect(200);
    assert_eq!(found, done);
    assert_eq!(client.get(&format!("{place}?wait_ms=1000")).await.expect(200), done);
    let explained = client.get(&format!("{place}/explain")).await.expect(200);
    assert_eq!(explained["facts"]["origin"], "rest");
    let stages = explained["stages"].as_array().unwrap();
    assert_eq!(stages[7]["stage"], "gates");
    assert!(!explained["audit"].as_array().unwrap().is_empty());
    // Arguments in a model's spelling are parsed as such.
    let text = json!({"tool": "greet", "arguments": "{\"a\": [1]"});
    client.post("/api/v1/calls", &text).await.expect(200);
    assert_eq!(tool.seen().last().unwrap(), &json!({"a": [1]}));
    daemon.stop().await;
}

#[tokio::test]
async fn the_status_says_what_became_of_a_call() {
    let fails = |name: &str, why: ErrorType| {
        Arc::new(ScriptedTool::new(name).fails(ToolError::new(why, "It failed.")))
    };
    let (broken, gone) =
        (fails("broken", ErrorType::ExecutionError), fails("gone", ErrorType::FileNotFound));
    let net = fails("net", ErrorType::NetworkError);
    let strict =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let strict = Arc::new(ScriptedTool::new("strict").takes(strict));
    let risky = Arc::new(ScriptedTool::new("risky").spec(|spec| spec.risk = Risk::Critical));
    let daemon = TestDaemon::with(with_tools(&[&broken, &gone, &net, &strict, &risky])).await;
    let client = daemon.client();
    let check = async |tool: &str, status: u16, state: &str, why: &str| {
        let answer = client.post("/api/v1/calls", &call(tool)).await.expect(status);
        assert_eq!(
            (&answer["status"], &answer["error_type"]),
            (&json!(state), &json!(why)),
            "{tool}"
        );
        assert!(answer["message"].as_str().is_some_and(|words| !words.is_empty()));
    };
    check("no_such_tool", 404, "failed", "tool_not_found").await;
    check("strict", 422, "failed", "validation_error").await;
    check("broken", 500, "failed", "execution_error").await;
    check("gone", 404, "failed", "file_not_found").await;
    check("net", 502, "failed", "network_error").await;
    let asks = client.post("/api/v1/calls", &call("risky")).await.expect(202);
    assert_eq!(asks["status"], "waiting");
    assert!(asks["approval"]["id"].as_str().unwrap().starts_with("appr_"));
    assert_eq!(risky.runs(), 0);
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_no_call_is_refused_before_anything_runs() {
    let tool = Arc::new(ScriptedTool::new("greet"));
    let daemon = TestDaemon::with(with_tools(&[&tool])).await;
    let client = daemon.client();
    let check = async |path: &str, body: Value, code: &str| {
        let answer = client.post(path, &body).await;
        assert_eq!(answer.problem(), code, "{body}");
    };
    check("/api/v1/calls", json!({}), "bad_request").await;
    check("/api/v1/calls", json!([]), "bad_request").await;
    check("/api/v1/calls", json!({"tool": 7}), "bad_request").await;
    check("/api/v1/calls", json!({"tool": "greet", "args": {}}), "bad_request").await;
    check("/api/v1/calls", json!({"tool": "greet", "wait_ms": -1}), "bad_request").await;
    check("/api/v1/calls", json!({"tool": "greet", "wait_ms": 600_001}), "invalid").await;
    check("/api/v1/calls/batch", json!({"calls": []}), "invalid").await;
    let many: Vec<Value> = (0..101).map(|_| call("greet")).collect();
    check("/api/v1/calls/batch", json!({"calls": many}), "invalid").await;
    let unknown = client.get("/api/v1/calls/call_00000000000000000000000000000000").await;
    assert_eq!(unknown.problem(), "not_found");
    assert_eq!(client.get("/api/v1/calls/nonsense").await.problem(), "not_found");
    assert_eq!(
        client.post("/api/v1/calls/nonsense/cancel", &json!({})).await.problem(),
        "not_found"
    );
    assert_eq!(tool.runs(), 0);
    daemon.stop().await;
}

#[tokio::test]
async fn a_call_that_is_not_waited_for_goes_on_and_is_found() {
    let gate = Gate::new("gate");
    let daemon = TestDaemon::with(with_tools(&[&gate.tool])).await;
    let client = daemon.client();
    let body = json!({"tool": "gate", "wait_ms": 0});
    let taken = client.post("/api/v1/calls", &body).await.expect(202);
    assert_eq!(taken["status"], "running");
    let place = format!("/api/v1/calls/{}", taken["call"].as_str().unwrap());
    gate.has_begun().await;
    assert_eq!(client.get(&place).await.expect(200)["status"], "running");
    let (waited, ()) = tokio::join!(
        async { client.get(&format!("{place}?wait_ms=60000")).await.expect(200) },
        async { gate.let_go(1) },
    );
    assert_eq!(waited["result"], "let through");
    daemon.stop().await;
}

/// Reliability, scenario S: the client of a call may disconnect.
#[tokio::test]
async fn a_call_whose_sender_went_away_goes_on() {
    let gate = Gate::new("gate");
    let daemon = TestDaemon::with(with_tools(&[&gate.tool])).await;
    let client = daemon.client().with("idempotency-key", "gone");
    let body = call("gate");
    {
        let sent = client.send(Method::POST, "/api/v1/calls", Some(&body));
        tokio::select! {
            _ = sent => panic!("it cannot have ended"),
            () = gate.has_begun() => {}
        }
    }
    gate.let_go(1);
    let again = client.post("/api/v1/calls", &body).await.expect(200);
    assert_eq!(again["result"], "let through");
    assert_eq!(gate.tool.runs(), 1);
    daemon.stop().await;
}

#[tokio::test]
async fn the_same_key_runs_once_however_often_it_is_sent() {
    let tool = Arc::new(ScriptedTool::new("pay").spec(|spec| spec.effect = Effect::SideEffect));
    let daemon = TestDaemon::with(Plan { durable: true, ..with_tools(&[&tool]) }).await;
    let pair = async |at: usize| {
        let client = daemon.client().with("idempotency-key", &format!("key {at}"));
        let body = json!({"tool": "pay", "arguments": {"n": at}});
        let (one, other) =
            tokio::join!(client.post("/api/v1/calls", &body), client.post("/api/v1/calls", &body));
        let (one, other) = (one.expect(200), other.expect(200));
        assert_eq!(one["call"], other["call"], "both have the same answer");
    };
    join_all((0..40).map(pair)).await;
    assert_eq!(tool.runs(), 40);
    let other = json!({"tool": "pay", "arguments": {"n": -1}});
    let client = daemon.client();
    let used = client.clone().with("idempotency-key", "key 0").post("/api/v1/calls", &other).await;
    assert_eq!(used.problem(), "conflict");
    for bad in ["", " ", &"k".repeat(201)] {
        let answer =
            client.clone().with("idempotency-key", bad).post("/api/v1/calls", &other).await;
        assert_eq!(answer.problem(), "bad_request", "{bad:?}");
    }
    let two = client.with("idempotency-key", "a").with("idempotency-key", "b");
    assert_eq!(two.post("/api/v1/calls", &other).await.problem(), "bad_request");
    assert_eq!(tool.runs(), 40);
    daemon.stop().await;
}

#[tokio::test]
async fn a_batch_answers_each_call_in_its_place() {
    let echo =
        Arc::new(ScriptedTool::new("echo").does(|_, args| {
            Box::pin(std::future::ready(Ok(ToolOutput::text(args["n"].to_string()))))
        }));
    let risky = Arc::new(ScriptedTool::new("risky").spec(|spec| spec.risk = Risk::Critical));
    let daemon = TestDaemon::with(with_tools(&[&echo, &risky])).await;
    let client = daemon.client();
    let calls: Vec<Value> =
        (0..40).map(|n| json!({"tool": "echo", "arguments": {"n": n}})).collect();
    let done = client.post("/api/v1/calls/batch", &json!({"calls": calls})).await.expect(200);
    for (n, call) in done["calls"].as_array().unwrap().iter().enumerate() {
        assert_eq!(call["result"], n.to_string());
    }
    let mixed = json!({"calls": [call("no_such_tool"), call("risky"), call("echo")]});
    let done = client.post("/api/v1/calls/batch", &mixed).await.expect(202);
    let states: Vec<&str> =
        done["calls"].as_array().unwrap().iter().map(|c| c["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["failed", "waiting", "succeeded"]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_call_is_stopped_or_taken_back() {
    let gate = Gate::new("gate");
    let risky = Arc::new(ScriptedTool::new("risky").spec(|spec| spec.risk = Risk::Critical));
    let daemon = TestDaemon::with(with_tools(&[&gate.tool, &risky])).await;
    let client = daemon.client();
    let sent = tokio::spawn({
        let client = client.clone();
        async move { client.post("/api/v1/calls", &call("gate")).await }
    });
    gate.has_begun().await;
    let running = client.get("/api/v1/calls?status=running").await.expect(200);
    let id = running["items"][0]["call"].as_str().unwrap().to_owned();
    let cancel = format!("/api/v1/calls/{id}/cancel");
    client.post(&cancel, &json!({})).await.expect(202);
    let ended = sent.await.unwrap().expect(499);
    assert_eq!((&ended["call"], &ended["status"]), (&json!(id), &json!("cancelled")));
    assert_eq!(client.post(&cancel, &json!({})).await.problem(), "conflict");

    let waits = client.post("/api/v1/calls", &call("risky")).await.expect(202);
    let id = waits["call"].as_str().unwrap();
    let cancel = format!("/api/v1/calls/{id}/cancel");
    let taken_back = client.post(&cancel, &json!({})).await.expect(200);
    assert_eq!(taken_back["status"], "denied");
    assert_eq!(client.get(&format!("/api/v1/calls/{id}")).await.expect(200)["status"], "denied");
    assert_eq!(client.post(&cancel, &json!({})).await.problem(), "conflict");
    assert_eq!(risky.runs(), 0);
    daemon.stop().await;
}

#[tokio::test]
async fn the_list_is_paged_and_filtered() {
    let (a, b) = (Arc::new(ScriptedTool::new("a")), Arc::new(ScriptedTool::new("b")));
    let daemon = TestDaemon::with(with_tools(&[&a, &b])).await;
    let client = daemon.client();
    for tool in ["a", "b", "a", "b", "a", "nothing"] {
        client.post("/api/v1/calls", &call(tool)).await;
    }
    let mut seen = Vec::new();
    let mut path = "/api/v1/calls?limit=4".to_owned();
    loop {
        let page = client.get(&path).await.expect(200);
        for row in page["items"].as_array().unwrap() {
            seen.push(row["call"].as_str().unwrap().to_owned());
        }
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/v1/calls?limit=4&cursor={next}");
    }
    assert_eq!(seen.len(), 6);
    assert!(seen.is_sorted_by(|one, other| one > other), "the newest first");
    let count = async |query: &str| {
        let page = client.get(&format!("/api/v1/calls?{query}")).await.expect(200);
        page["items"].as_array().unwrap().len()
    };
    assert_eq!(count("tool=a").await, 3);
    assert_eq!(count("status=succeeded").await, 5);
    assert_eq!(count("status=failed").await, 1);
    assert_eq!(count("status=running").await, 0);
    assert_eq!(count("since=0&until=1").await, 0);
    for (query, code) in [
        ("cursor=nonsense", "bad_cursor"),
        ("limit=0", "invalid"),
        ("limit=501", "invalid"),
        ("run=nonsense", "invalid"),
        ("status=waiting", "invalid"),
        ("status=nonsense", "bad_request"),
        ("colour=red", "bad_request"),
    ] {
        let answer = client.get(&format!("/api/v1/calls?{query}")).await;
        assert_eq!(answer.problem(), code, "{query}");
    }
    daemon.stop().await;
}

/// A token of a viewer sees neither arguments nor results.
#[tokio::test]
async fn a_viewer_sees_that_calls_were_made_and_not_what_they_said() {
    let tool = Arc::new(ScriptedTool::new("greet").returns(ToolOutput::text("private words")));
    let daemon = TestDaemon::with(with_tools(&[&tool])).await;
    let owner = daemon.client();
    let made = owner
        .post("/api/v1/tokens", &json!({"name": "page", "roles": ["viewer"]}))
        .await
        .expect(201);
    let viewer = daemon.anybody().with_token(made["token"].as_str().unwrap());
    let body = json!({"tool": "greet", "arguments": {"to": "private words"}});
    let done = owner.post("/api/v1/calls", &body).await.expect(200);
    let id = done["call"].as_str().unwrap();
    for path in [
        "/api/v1/calls".to_owned(),
        format!("/api/v1/calls/{id}"),
        format!("/api/v1/calls/{id}/explain"),
    ] {
        let seen = viewer.get(&path).await;
        assert!(seen.expect(200).to_string().contains(id), "{path}");
        assert!(!seen.text.contains("private words"), "{path}: {}", seen.text);
        assert!(owner.get(&path).await.text.contains("private words"), "{path}");
    }
    assert_eq!(viewer.post("/api/v1/calls", &body).await.problem(), "forbidden");
    assert_eq!(tool.runs(), 1);
    daemon.stop().await;
}

/// A token may be limited to some tools; all routes treat other tools as nonexistent.
#[tokio::test]
async fn a_token_of_some_tools_calls_no_others() {
    let (yes, no) = (Arc::new(ScriptedTool::new("yes")), Arc::new(ScriptedTool::new("no")));
    let daemon = TestDaemon::with(with_tools(&[&yes, &no])).await;
    let wanted = json!({"name": "ci", "roles": ["caller"], "tools": ["yes"]});
    let made = daemon.client().post("/api/v1/tokens", &wanted).await.expect(201);
    let client = daemon.anybody().with_token(made["token"].as_str().unwrap());
    client.post("/api/v1/calls", &call("yes")).await.expect(200);
    client.post("/api/v1/calls", &call("no")).await.expect(403);
    let both = json!({"calls": [call("no"), call("yes")]});
    client.post("/api/v1/calls/batch", &both).await.expect(200);
    client.post("/api/v1/tools/no/test", &json!({"arguments": {}})).await.expect(200);
    let answer = json!({"choices": [{"message": {"role": "assistant", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "no", "arguments": "{}"}},
    ]}, "finish_reason": "tool_calls"}]});
    let done = client.post("/api/v1/exec?format=openai-chat", &answer).await.expect(200);
    assert_eq!(done["calls"][0]["error_type"], "tool_not_available");
    assert_eq!((yes.runs(), no.runs()), (2, 0));
    daemon.stop().await;
}

#[tokio::test]
async fn a_full_house_says_when_to_come_again_and_others_get_in() {
    let gate = Gate::new("gate");
    let quick = Arc::new(ScriptedTool::new("quick"));
    let plan = with_tools(&[&gate.tool, &quick]);
    let daemon = TestDaemon::with(Plan {
        daemon: Box::new(|settings| {
            settings.calls_at_once = 2;
            settings.calls_waiting = 1;
        }),
        ..plan
    })
    .await;
    let owner = daemon.client();
    let made = owner
        .post("/api/v1/tokens", &json!({"name": "other", "roles": ["caller"]}))
        .await
        .expect(201);
    let other = daemon.anybody().with_token(made["token"].as_str().unwrap());
    let send = || {
        let client = owner.clone();
        tokio::spawn(async move { client.post("/api/v1/calls", &call("gate")).await })
    };
    let first = send();
    gate.has_begun().await;
    let second = send();
    let queued = async || owner.get("/api/v1/status").await.expect(200)["calls"]["queued"].clone();
    while queued().await != 1 {
        tokio::task::yield_now().await;
    }
    let full = owner.post("/api/v1/calls", &call("gate")).await;
    assert_eq!(full.problem(), "rate_limited");
    assert_eq!(full.headers["retry-after"], "1");
    // The other half of the slots is left for other clients.
    other.post("/api/v1/calls", &call("quick")).await.expect(200);
    gate.let_go(2);
    first.await.unwrap().expect(200);
    second.await.unwrap().expect(200);
    assert_eq!(gate.tool.runs(), 2);
    daemon.stop().await;
}

/// Regression, found in review: a request with a maximum wait time was held for as long as the
/// queue was full.
#[tokio::test]
async fn who_does_not_wait_is_not_held_by_a_full_house() {
    let gate = Gate::new("gate");
    let daemon = TestDaemon::with(Plan {
        daemon: Box::new(|settings| settings.calls_at_once = 1),
        ..with_tools(&[&gate.tool])
    })
    .await;
    let client = daemon.client();
    let first = tokio::spawn({
        let client = client.clone();
        async move { client.post("/api/v1/calls", &call("gate")).await }
    });
    gate.has_begun().await;
    let hurried = json!({"tool": "gate", "arguments": {}, "wait_ms": 0});
    let answer = client.post("/api/v1/calls", &hurried).await;
    assert_eq!(answer.problem(), "rate_limited");
    assert!(answer.text.contains("nothing was run"), "{}", answer.text);
    gate.let_go(1);
    first.await.unwrap().expect(200);
    assert_eq!(gate.tool.runs(), 1);
    daemon.stop().await;
}

/// Reliability, scenario R: accepted calls are answered, and refused calls are reported and not
/// started.
#[tokio::test]
async fn a_daemon_that_stops_lets_calls_end() {
    let gate = Gate::new("gate");
    let daemon = TestDaemon::with(Plan {
        daemon: Box::new(|settings| settings.calls_at_once = 1),
        ..with_tools(&[&gate.tool])
    })
    .await;
    let client = daemon.client();
    let send = || {
        let client = client.clone();
        tokio::spawn(async move { client.post("/api/v1/calls", &call("gate")).await })
    };
    let first = send();
    gate.has_begun().await;
    let second = send();
    let queued = async || client.get("/api/v1/status").await.expect(200)["calls"]["queued"].clone();
    while queued().await != 1 {
        tokio::task::yield_now().await;
    }
    let stopped = tokio::spawn(daemon.stop());
    assert_eq!(second.await.unwrap().problem(), "unavailable");
    gate.let_go(1);
    first.await.unwrap().expect(200);
    stopped.await.unwrap();
    assert_eq!(gate.tool.runs(), 1);
}

/// Regression, found in review: refused calls were stored with all arguments, 36 MB within a
/// second.
#[tokio::test]
async fn refused_calls_are_stored_short() {
    let tool = Arc::new(ScriptedTool::new("greet").returns(ToolOutput::text("hello")));
    let daemon = TestDaemon::with(Plan { durable: true, ..with_tools(&[&tool]) }).await;
    let client = daemon.client();
    let long = "x".repeat(500_000);
    let named = client.post("/api/v1/calls", &call(&long)).await.expect(404);
    assert!(named["asked"].as_str().unwrap().len() <= 100);
    let keyed = json!({"tool": "nope", "arguments": {"text": long}});
    let with_key = client.clone().with("idempotency-key", "once");
    let first = with_key.post("/api/v1/calls", &keyed).await.expect(404);
    assert_eq!(with_key.post("/api/v1/calls", &keyed).await.expect(404), first);
    for n in 0..8 {
        client.post("/api/v1/calls", &call(&long)).await.expect(404);
        let key = format!("key {n}");
        client
            .clone()
            .with("idempotency-key", &key)
            .post("/api/v1/calls", &keyed)
            .await
            .expect(404);
    }
    // A call that has run is still found by its key, although the store no longer has its
    // arguments.
    let greet = json!({"tool": "greet", "arguments": {"text": long}});
    let greeted = client.clone().with("idempotency-key", "greet");
    let first = greeted.post("/api/v1/calls", &greet).await.expect(200);
    assert_eq!(greeted.post("/api/v1/calls", &greet).await.expect(200), first);
    assert_eq!(tool.runs(), 1);
    let folder = daemon.stop().await;
    let bytes = std::fs::metadata(folder.path().join("state/toolcrib.db")).unwrap().len();
    assert!(bytes < 4_000_000, "{bytes} bytes for 19 refused calls of 500,000");
}

/// A batch is one request, and each of its refused calls is recorded.
#[tokio::test]
async fn refused_calls_of_a_batch_count_as_requests() {
    let mut plan = with_tools(&[]);
    plan.daemon = Box::new(|settings| settings.requests_per_minute = 100);
    let daemon = TestDaemon::with(plan).await;
    let token = crate::tokens::made(&daemon, json!({"name": "a", "roles": ["caller"]})).await.0;
    let client = daemon.anybody().with_token(&token);
    let batch = json!({"calls": vec![call("nope"); 99]});
    client.post("/api/v1/calls/batch", &batch).await.expect(200);
    client.post("/api/v1/calls/batch", &batch).await.expect(200);
    assert_eq!(client.post("/api/v1/calls", &call("nope")).await.problem(), "rate_limited");
    daemon.client().get("/api/v1/status").await.expect(200);
    daemon.stop().await;
}

/// Regression: the call was answered with 200 as succeeded, and stored as unknown.
#[tokio::test]
async fn a_call_whose_outcome_cannot_be_recorded_is_answered_with_507_and_its_result() {
    let gate = Gate::new("slow");
    let plan = Plan { durable: true, ..with_tools(&[&gate.tool]) };
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let running = tokio::spawn({
        let client = daemon.client();
        async move { client.post("/api/v1/calls", &call("slow")).await }
    });
    gate.has_begun().await;
    let database = daemon.folder().join("state/toolcrib.db");
    std::fs::rename(&database, database.with_extension("moved")).unwrap();
    // Wait until the store has noticed the failure.
    while client.get("/api/v1/calls").await.status == 200 {}
    gate.let_go(1);
    let answer = running.await.unwrap().expect(507);
    assert_eq!(
        (&answer["status"], &answer["error_type"]),
        (&json!("unknown"), &json!("not_recorded"))
    );
    assert_eq!(answer["unrecorded"]["result"], "let through");
    assert_eq!(answer["unrecorded"]["outcome"], "succeeded");
    let figures = client.get("/metrics").await.text;
    assert!(!figures.contains("outcome=\"succeeded\""), "{figures}");
    let refused = client.post("/api/v1/calls", &call("slow")).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
}

#[tokio::test]
async fn a_call_belongs_to_the_agent_conversation_and_topic_that_are_named() {
    let free = Arc::new(ScriptedTool::new("free").returns(ToolOutput::text("done")));
    let other = Arc::new(ScriptedTool::new("other").returns(ToolOutput::text("done")));
    let daemon = TestDaemon::with(with_tools(&[&free, &other])).await;
    let client = daemon.client();
    let text = "---\ntools: [free]\n---\nYou read.\n";
    let answer = client.put("/api/v1/agents/reader", &json!({"text": text})).await;
    assert!(answer.status.is_success(), "{}", answer.text);
    let run = client.post("/api/v1/runs", &json!({"text": "go", "wait": true})).await.expect(200);
    let conversation = &run["conversation"];
    let mut body = json!({
        "tool": "free", "agent": "reader", "conversation": conversation, "topic": "the garden",
    });
    let done = client.post("/api/v1/calls", &body).await.expect(200);
    let call = done["call"].as_str().unwrap();
    let row = &client.get("/api/v1/calls").await.expect(200)["items"][0];
    assert_eq!((&row["call"], &row["agent"]), (&json!(call), &json!("reader")));
    assert_eq!((&row["conversation"], &row["topic"]), (conversation, &json!("the garden")));
    body["tool"] = json!("other");
    let refused = client.post("/api/v1/calls", &body).await;
    assert!(!refused.status.is_success(), "the agent's list limits it: {}", refused.text);
    assert_eq!(other.runs(), 0);
    let batch = json!({"calls": [{"tool": "free"}, {"tool": "other"}], "agent": "reader"});
    let both = client.post("/api/v1/calls/batch", &batch).await.expect(200);
    assert_eq!((&both["calls"][0]["status"], other.runs()), (&json!("succeeded"), 0), "{both}");
    let unknown = json!({"tool": "free", "agent": "raeder"});
    assert_eq!(client.post("/api/v1/calls", &unknown).await.problem(), "not_found");
    let wrong = json!({"tool": "free", "conversation": "garden"});
    assert_eq!(client.post("/api/v1/calls", &wrong).await.problem(), "invalid");
    let long = json!({"tool": "free", "topic": "x".repeat(201)});
    assert_eq!(client.post("/api/v1/calls", &long).await.problem(), "invalid");

    // A token that is limited to tools keeps its limit, and cannot use conversations of others.
    let token = json!({"name": "t", "roles": ["caller"], "tools": ["other"]});
    let (token, _) = crate::tokens::made(&daemon, token).await;
    let limited = daemon.anybody().with_token(&token);
    let body = json!({"tool": "free", "agent": "reader"});
    assert!(!limited.post("/api/v1/calls", &body).await.status.is_success());
    assert_eq!(free.runs(), 2);
    let body = json!({"tool": "other", "conversation": conversation});
    assert_eq!(limited.post("/api/v1/calls", &body).await.problem(), "not_found");
    daemon.stop().await;
}
