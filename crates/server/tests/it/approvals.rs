//! The inbox over HTTP: waiting questions, deciding once, and the automatic continuation
//! afterwards.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_app::Preset;
use toolcrib_core::{Effect, Risk};
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::runs::{Gate, begun, stands};
use crate::support::{Client, Events, Plan, TestDaemon};

/// Returns a tool that asks for an approval.
pub(crate) fn risky() -> std::sync::Arc<ScriptedTool> {
    let tool = ScriptedTool::new("risky").spec(|spec| {
        spec.risk = Risk::High;
        spec.effect = Effect::SideEffect;
    });
    std::sync::Arc::new(tool)
}

pub(crate) fn plan(tool: &std::sync::Arc<ScriptedTool>, script: &str) -> Plan {
    plan_of(&[tool], script)
}

pub(crate) fn plan_of(tools: &[&std::sync::Arc<ScriptedTool>], script: &str) -> Plan {
    let source = fixed_source("test", tools);
    Plan {
        script: script.to_owned(),
        toolcrib: Box::new(|settings| settings.engine.preset = Preset::AskRisky),
        builder: Box::new(move |builder| builder.source(source)),
        daemon: Box::new(|settings| {
            settings.recovery_interval = std::time::Duration::from_millis(50);
        }),
        durable: true,
        ..Plan::default()
    }
}

pub(crate) const ONE: &str = "turns:
  - say: I ask.
    calls: [{tool: risky, args: {what: door}}]
  - say: It is done.
";

/// Returns the only waiting question.
async fn only(client: &Client) -> Value {
    let list = client.get("/api/v1/approvals").await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
    list["items"][0].clone()
}

fn path(question: &Value) -> String {
    format!("/api/v1/approvals/{}", question["approval"].as_str().unwrap())
}

fn decide(question: &Value, decision: &str) -> Value {
    json!({"decision": decision, "nonce": question["nonce"]})
}

/// The preview lists the calls that "always" would have matched, and decides nothing.
#[tokio::test]
async fn what_a_remembered_approval_would_match_is_shown_first() {
    let tool = risky();
    let daemon = TestDaemon::with(plan(&tool, ONE)).await;
    let client = daemon.client();
    let body = json!({"text": "go", "wait": true});
    let run = client.post("/api/v1/runs", &body).await.expect(202);
    let first = only(&client).await;
    client.post(&path(&first), &decide(&first, "approve")).await.expect(200);
    stands(&client, run["run"].as_str().unwrap(), "ended").await;
    client.post("/api/v1/runs", &body).await.expect(202);
    let question = only(&client).await;
    let preview = format!("{}/preview", path(&question));
    let check = async |only: Value, expected: usize| {
        let wanted = json!({"scope": "always", "only": only});
        let shown = client.post(&preview, &wanted).await.expect(200);
        assert_eq!((&shown["matched"], &shown["truncated"]), (&json!(expected), &json!(false)));
        assert_eq!(shown["calls"].as_array().unwrap().len(), expected);
    };
    check(json!({}), 1).await;
    check(json!({"what": "d*"}), 1).await;
    let other = json!({"scope": "always", "only": {"what": "window"}});
    client.post(&preview, &other).await.expect(422);
    client.post(&preview, &json!({"scope": "once"})).await.expect(422);
    assert_eq!(only(&client).await["state"], "pending");
    assert_eq!(client.get("/api/v1/grants").await.expect(200)["items"], json!([]));
    daemon.stop().await;
}

#[tokio::test]
async fn a_decision_lets_the_run_go_on() {
    let tool = risky();
    let daemon = TestDaemon::with(plan(&tool, ONE)).await;
    let client = daemon.client();
    let answer =
        client.post("/api/v1/runs", &json!({"text": "go", "wait": true})).await.expect(202);
    assert_eq!(
        (&answer["state"], &answer["status"]),
        (&json!("paused"), &json!("approval_needed"))
    );
    assert_eq!(tool.runs(), 0);
    let question = only(&client).await;
    assert_eq!((&question["run"], &question["state"]), (&answer["run"], &json!("pending")));
    assert_eq!(question["args"], json!({"what": "door"}));
    let shown = client.get(&path(&question)).await.expect(200);
    assert_eq!((&shown["goes_on"], &shown["nonce"]), (&json!("run"), &question["nonce"]));
    let run = answer["run"].as_str().unwrap();
    let mut events = Events::open(&client, &format!("/api/v1/runs/{run}/events"), None).await;
    assert_eq!(events.next().await.unwrap().data["state"], "paused");
    let decided = client.post(&path(&question), &decide(&question, "approve")).await.expect(200);
    assert_eq!(decided["goes_on"], "run");
    let view = stands(&client, run, "ended").await;
    assert_eq!(view["text"], "It is done.");
    assert_eq!(tool.runs(), 1);
    // A subscriber of the events sees the run continue.
    let names: Vec<String> = events.rest().await.into_iter().map(|event| event.name).collect();
    assert!(names.contains(&"run-end".to_owned()), "{names:?}");
    // The first decision remains in force.
    let second = client.post(&path(&question), &decide(&question, "deny")).await;
    assert_eq!(second.problem(), "conflict");
    assert_eq!(second.json()["about"]["decision"], "approve");
    let history = client.get("/api/v1/approvals?state=all").await.expect(200);
    assert_eq!(history["items"][0]["state"], "decided");
    assert_eq!(client.get("/api/v1/approvals").await.expect(200)["items"], json!([]));
    daemon.stop().await;
}

#[tokio::test]
async fn a_decision_must_fit_what_was_seen() {
    let tool = risky();
    let daemon = TestDaemon::with(plan(&tool, ONE)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    stands(&client, &run, "paused").await;
    let question = only(&client).await;
    let nonce = &question["nonce"];
    let check = async |body: Value, status: u16, code: &str| {
        let answer = client.post(&path(&question), &body).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, code), "{body}");
    };
    check(json!({"decision": "approve"}), 400, "bad_request").await;
    check(json!({"decision": "approve", "nonce": "other"}), 409, "conflict").await;
    check(json!({"decision": "perhaps", "nonce": nonce}), 400, "bad_request").await;
    check(json!({"decision": "answer", "text": "a", "nonce": nonce}), 422, "invalid").await;
    check(json!({"decision": "edit", "nonce": nonce}), 422, "invalid").await;
    check(json!({"decision": "approve", "note": "x", "nonce": nonce}), 422, "invalid").await;
    check(json!({"decision": "approve", "nonce": nonce, "odd": 1}), 400, "bad_request").await;
    for none in ["x".to_owned(), format!("appr_{:032x}", 1)] {
        let answer =
            client.post(&format!("/api/v1/approvals/{none}"), &decide(&question, "deny")).await;
        assert_eq!(answer.problem(), "not_found");
    }
    assert_eq!(only(&client).await["state"], "pending");
    let edit = json!({"decision": "edit", "args": {"what": "window"}, "nonce": nonce});
    client.post(&path(&question), &edit).await.expect(200);
    stands(&client, &run, "ended").await;
    assert_eq!(tool.seen(), [json!({"what": "window"})]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_question_of_the_model_is_answered() {
    let script = "turns:
  - calls: [{tool: ask_user, args: {question: Which one?, options: [red, blue]}}]
  - expect: {last_user_contains: blue}
    say: Blue it is.
";
    let daemon = TestDaemon::with(plan(&risky(), script)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    let view = stands(&client, &run, "paused").await;
    assert_eq!(view["status"], "clarification_needed");
    let question = only(&client).await;
    assert_eq!(question["question"]["options"], json!(["red", "blue"]));
    let wrong = client.post(&path(&question), &decide(&question, "approve")).await;
    assert_eq!(wrong.problem(), "invalid");
    let answer = json!({"decision": "answer", "text": "blue", "nonce": question["nonce"]});
    client.post(&path(&question), &answer).await.expect(200);
    assert_eq!(stands(&client, &run, "ended").await["text"], "Blue it is.");
    daemon.stop().await;
}

/// Test A1 of reliability.md: two people decide at the same time, two hundred times; exactly one
/// decision applies, and the call runs at most once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_decide_at_once_one_has_decided() {
    const TIMES: usize = 200;
    let tool = risky();
    let calls: Vec<String> =
        (0..25).map(|call| format!("{{tool: risky, args: {{n: {call}}}}}")).collect();
    let script =
        format!("turns:\n  - say: I ask.\n    calls: [{}]\n  - say: Done.\n", calls.join(", "));
    let daemon = TestDaemon::with(plan(&tool, &script)).await;
    let client = daemon.client();
    let mut approved = 0;
    for round in 0..TIMES / calls.len() {
        let run = begun(&client, &json!({"text": format!("round {round}")})).await;
        stands(&client, &run, "paused").await;
        let list = client.get("/api/v1/approvals?limit=100").await.expect(200);
        let questions = list["items"].as_array().unwrap().clone();
        assert_eq!(questions.len(), calls.len());
        for question in &questions {
            let (yes, no) = (decide(question, "approve"), decide(question, "deny"));
            let place = path(question);
            let (one, two) = tokio::join!(client.post(&place, &yes), client.post(&place, &no));
            let won = [&one, &two].map(|answer| answer.status == 200);
            assert_ne!(won[0], won[1], "{} {}", one.text, two.text);
            let lost = if won[0] { &two } else { &one };
            assert_eq!(lost.problem(), "conflict");
            let stands = if won[0] { "approve" } else { "deny" };
            assert_eq!(lost.json()["about"]["decision"], stands);
            approved += usize::from(won[0]);
        }
        stands(&client, &run, "ended").await;
    }
    assert_eq!(tool.runs(), approved);
    daemon.stop().await;
}

/// Test A2 of reliability.md: no decision is made in time, so the call ends as expired, and a late
/// decision is refused with that reason.
#[tokio::test]
async fn a_decision_that_comes_too_late_is_told_so() {
    let tool = risky();
    let mut plan = plan(&tool, ONE);
    plan.toolcrib = Box::new(|settings| {
        settings.engine.preset = Preset::AskRisky;
        settings.engine.approval_timeout = Some(std::time::Duration::from_millis(30));
    });
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    let view = stands(&client, &run, "ended").await;
    assert_eq!(view["text"], "It is done.");
    assert_eq!(view["items"][2]["outcome"], "expired");
    let history = client.get("/api/v1/approvals?state=all").await.expect(200);
    let question = &history["items"][0];
    assert_eq!(question["state"], "expired");
    let late = client.post(&path(question), &decide(question, "approve")).await;
    assert_eq!((late.status.as_u16(), late.problem().as_str()), (410, "gone"));
    assert_eq!(tool.runs(), 0);
    daemon.stop().await;
}

#[tokio::test]
async fn a_person_does_not_decide_their_own_requests_under_four_eyes() {
    let tool = risky();
    let mut plan = plan(&tool, ONE);
    plan.daemon = Box::new(|settings| settings.four_eyes = true);
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    stands(&client, &run, "paused").await;
    let question = only(&client).await;
    let own = client.post(&path(&question), &decide(&question, "approve")).await;
    assert_eq!(own.problem(), "forbidden");
    assert_eq!(only(&client).await["state"], "pending");
    daemon.stop().await;
}

/// Regression, found in review: the owner asked with the token of the machine and decided on the
/// socket.
#[tokio::test]
async fn four_eyes_are_not_those_of_one_owner_on_two_surfaces() {
    let tool = risky();
    let mut plan = plan(&tool, ONE);
    plan.daemon = Box::new(|settings| settings.four_eyes = true);
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let call = json!({"tool": "risky", "arguments": {}});
    client.post("/api/v1/calls", &call).await.expect(202);
    let question = only(&client).await;
    let body = decide(&question, "approve").to_string();
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        path(&question),
        body.len()
    );
    let reply = crate::raw_http::exchange_on(&daemon.socket(), head).await.text;
    assert!(reply.contains("403") && reply.contains("four_eyes"), "{reply}");
    assert_eq!((only(&client).await["state"].clone(), tool.runs()), (json!("pending"), 0));
    daemon.stop().await;
}

/// Regression, found in review: the terminal of the deciding person interpreted control characters
/// of a path.
#[tokio::test]
async fn a_summary_has_no_character_that_moves_hides_or_forges_a_line() {
    let daemon = TestDaemon::with(plan_of(&[], ONE)).await;
    let name = "a\u{1b}[2J\u{202e}b\u{200b}c\nArguments: {}";
    std::fs::write(daemon.workspace().join(name), "x").unwrap();
    let client = daemon.client();
    let call = json!({"tool": "delete_file", "arguments": {"path": name}});
    let waiting = client.post("/api/v1/calls", &call).await.expect(202);
    let question = only(&client).await;
    let shown = [&question["summary"], &waiting["approval"]["summary"]];
    for summary in shown.map(|summary| summary.as_str().unwrap()) {
        let hidden = ['\u{1b}', '\u{202e}', '\u{200b}', '\n'];
        assert!(!summary.contains(hidden), "{summary:?}");
        assert!(summary.contains("\\u{202e}"), "{summary}");
    }
    assert_eq!(question["args"]["path"], name, "the data stays what runs");
    daemon.stop().await;
}

/// A stopped run withdraws its questions.
#[tokio::test]
async fn a_run_that_waits_can_be_stopped() {
    let tool = risky();
    let daemon = TestDaemon::with(plan(&tool, ONE)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    stands(&client, &run, "paused").await;
    let question = only(&client).await;
    let early = client.post(&format!("/api/v1/runs/{run}/resume"), &json!({})).await;
    assert_eq!(early.problem(), "conflict");
    let stopped = client.post(&format!("/api/v1/runs/{run}/stop"), &json!({})).await.expect(200);
    assert_eq!(stopped["status"], "stopped");
    let late = client.post(&path(&question), &decide(&question, "approve")).await;
    assert_eq!(late.problem(), "conflict");
    assert_eq!(tool.runs(), 0);
    daemon.stop().await;
}

/// A waiting call does not delay the other calls, and an approved call runs while they are still
/// active.
#[tokio::test]
async fn what_is_decided_while_the_run_works_counts() {
    let gate = Gate::new("gate", Effect::Pure);
    let tool = risky();
    let script = "turns:
  - say: Both.
    calls: [{tool: risky, args: {}}, {tool: gate, args: {}}]
  - say: Both done.
";
    let mut plan = plan(&tool, script);
    let (one, two) = (std::sync::Arc::clone(&tool), std::sync::Arc::clone(&gate.tool));
    plan.builder = Box::new(move |builder| builder.source(fixed_source("test", &[&one, &two])));
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    gate.began(1).await;
    let question = loop {
        let list = client.get("/api/v1/approvals").await.expect(200);
        if let Some(question) = list["items"].get(0) {
            break question.clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    client.post(&path(&question), &decide(&question, "approve")).await.expect(200);
    gate.open(1);
    assert_eq!(stands(&client, &run, "ended").await["text"], "Both done.");
    assert_eq!(tool.runs(), 1);
    daemon.stop().await;
}

/// A call outside of a run continues by itself once it is decided.
#[tokio::test]
async fn a_decision_lets_a_single_call_go_on() {
    let tool = risky();
    let daemon = TestDaemon::with(plan(&tool, ONE)).await;
    let client = daemon.client();
    let call = json!({"tool": "risky", "arguments": {"what": "gate"}});
    let mut places = Vec::new();
    for decision in ["approve", "deny"] {
        let waiting = client.post("/api/v1/calls", &call).await.expect(202);
        let question = only(&client).await;
        assert_eq!((&question["run"], &question["call"]), (&Value::Null, &waiting["call"]));
        let decided = client.post(&path(&question), &decide(&question, decision)).await.expect(200);
        assert_eq!(decided["goes_on"], "call");
        places.push(format!("/api/v1/calls/{}?wait_ms=10000", waiting["call"].as_str().unwrap()));
    }
    // The call continues in the background, after the response to the decision.
    let became = async |place: &str| loop {
        let answer = client.get(place).await.json();
        if !["waiting", "running"].contains(&answer["status"].as_str().unwrap()) {
            return answer["status"].clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    assert_eq!(became(&places[0]).await, "succeeded");
    assert_eq!(became(&places[1]).await, "denied");
    assert_eq!(tool.seen(), [json!({"what": "gate"})]);
    daemon.stop().await;
}

/// Four eyes apply to single calls as well as to runs.
#[tokio::test]
async fn a_call_of_ones_own_is_decided_by_another_person() {
    let tool = risky();
    let mut plan = plan(&tool, ONE);
    plan.daemon = Box::new(|settings| settings.four_eyes = true);
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let call = json!({"tool": "risky", "arguments": {}});
    client.post("/api/v1/calls", &call).await.expect(202);
    let question = only(&client).await;
    let own = client.post(&path(&question), &decide(&question, "approve")).await;
    assert_eq!(own.problem(), "forbidden");
    let token = json!({"name": "second", "roles": ["approver"]});
    let token = client.post("/api/v1/tokens", &token).await.expect(201);
    let other = daemon.anybody().with_token(token["token"].as_str().unwrap());
    other.post(&path(&question), &decide(&question, "approve")).await.expect(200);
    daemon.stop().await;
}

/// Test A4 of reliability.md: the tool has changed since the question was asked, so the approved
/// call does not run.
#[tokio::test]
async fn an_approval_is_void_when_the_tool_has_changed() {
    let daemon = TestDaemon::with(plan(&risky(), ONE)).await;
    let run = begun(&daemon.client(), &json!({"text": "go"})).await;
    stands(&daemon.client(), &run, "paused").await;
    let folder = daemon.stop().await;
    let other = ScriptedTool::new("risky").spec(|spec| {
        spec.risk = Risk::High;
        spec.effect = Effect::SideEffect;
        spec.description = "Does something else now.".into();
    });
    let other = std::sync::Arc::new(other);
    let daemon = TestDaemon::in_folder(folder, plan(&other, ONE)).await;
    let client = daemon.client();
    let question = only(&client).await;
    client.post(&path(&question), &decide(&question, "approve")).await.expect(200);
    let view = stands(&client, &run, "ended").await;
    assert_eq!(view["text"], "It is done.");
    let call =
        view["items"].as_array().unwrap().iter().find(|item| item["item"] == "call").unwrap();
    assert_eq!(call["outcome"], "denied", "{call}");
    assert_eq!(other.runs(), 0);
    daemon.stop().await;
}

/// The daemon finds and applies a decision that another process stored, such as a command in a
/// terminal.
#[tokio::test]
async fn what_is_decided_elsewhere_goes_on_here() {
    let tool = risky();
    let daemon = TestDaemon::with(plan(&tool, ONE)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    stands(&client, &run, "paused").await;
    let mut events = Events::open(&client, "/api/v1/events", None).await;
    let question = only(&client).await;
    let id = question["approval"].as_str().unwrap().parse().unwrap();
    let record = toolcrib_core::DecisionRecord {
        decision: toolcrib_core::Decision::approve(),
        decided_by: "ann".to_owned(),
        decided_at: 1,
    };
    let written = daemon.toolcrib.stores().approvals.decide(id, record).await.unwrap();
    assert_eq!(written, Ok(()));
    assert_eq!(stands(&client, &run, "ended").await["text"], "It is done.");
    let told = events.until("decision").await;
    assert_eq!((&told.data["approval"], &told.data["by"]), (&question["approval"], &json!("ann")));
    assert_eq!(tool.runs(), 1);
    daemon.stop().await;
}

/// A viewer sees that a question waits, but not its content.
#[tokio::test]
async fn arguments_are_not_for_those_who_only_look() {
    let daemon = TestDaemon::with(plan(&risky(), ONE)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go, secretly"})).await;
    stands(&client, &run, "paused").await;
    let token = json!({"name": "looker", "roles": ["viewer"]});
    let token = client.post("/api/v1/tokens", &token).await.expect(201);
    let looker = daemon.anybody().with_token(token["token"].as_str().unwrap());
    let question = only(&looker).await;
    assert_eq!((&question["tool"], &question["args"]), (&json!("risky"), &Value::Null));
    for place in [path(&question), format!("/api/v1/runs/{run}")] {
        let text = looker.get(&place).await.expect(200).to_string();
        assert!(!text.contains("door") && !text.contains("I ask."), "{text}");
    }
    // The person's text does not appear anywhere: neither as the topic nor as a title.
    let call = format!("/api/v1/calls/{}/explain", question["call"].as_str().unwrap());
    let lists = toolcrib_server::operations().into_iter();
    let lists = lists.filter(|one| one.method == "GET" && !one.path.contains('{'));
    for place in
        lists.map(|one| one.full_path()).filter(|path| !path.ends_with("/events")).chain([call])
    {
        let answer = looker.get(&place).await;
        let text = answer.text;
        assert!(!text.contains("secretly"), "{place}: {text}");
    }
    let reasons = question["reasons"].as_array().unwrap();
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| reason.get("text").is_none()));
    let events = format!("/api/v1/runs/{run}/events");
    for (answer, code) in [
        (looker.get(&events).await, "forbidden"),
        (looker.post(&path(&question), &decide(&question, "deny")).await, "forbidden"),
        (looker.post("/api/v1/runs", &json!({"text": "a"})).await, "forbidden"),
    ] {
        assert_eq!(answer.problem(), code);
    }
    daemon.stop().await;
}

/// A message to a waiting run is delivered when the run continues.
#[tokio::test]
async fn a_run_that_waits_is_spoken_to() {
    let script = "turns:
  - say: I ask.
    calls: [{tool: risky, args: {}}]
  - expect: {last_user_contains: milk}
    say: Milk too.
";
    let daemon = TestDaemon::with(plan(&risky(), script)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    stands(&client, &run, "paused").await;
    let steer = format!("/api/v1/runs/{run}/steer");
    client.post(&steer, &json!({"text": "and milk"})).await.expect(202);
    stands(&client, &run, "paused").await;
    let question = only(&client).await;
    client.post(&path(&question), &decide(&question, "approve")).await.expect(200);
    assert_eq!(stands(&client, &run, "ended").await["text"], "Milk too.");
    daemon.stop().await;
}

#[tokio::test]
async fn approvals_that_are_waved_through_are_listed() {
    let tool = risky();
    let daemon = TestDaemon::with(plan(&tool, ONE)).await;
    let client = daemon.client();
    for round in 0..3 {
        let body = json!({"tool": "risky", "arguments": {"what": round.to_string()}});
        client.post("/api/v1/calls", &body).await.expect(202);
        let question = only(&client).await;
        client.post(&path(&question), &decide(&question, "approve")).await.expect(200);
    }
    let hasty = client.get("/api/v1/approvals/hasty").await.expect(200);
    let expected = json!([{"operation": "risky", "approvals": 3, "hasty": 3}]);
    assert_eq!(hasty["operations"], expected);
    let body = json!({"name": "s", "owner": "other", "roles": ["viewer"]});
    let (token, _) = crate::tokens::made(&daemon, body).await;
    let other = daemon.anybody().with_token(&token);
    assert_eq!(other.get("/api/v1/approvals/hasty").await.expect(200)["operations"], json!([]));
    daemon.stop().await;
}

#[tokio::test]
async fn rules_are_suggested_from_approvals_and_replayed_over_the_history() {
    let tool = ScriptedTool::new("risky").spec(|spec| {
        spec.risk = Risk::High;
        spec.effect = Effect::SideEffect;
        let properties = json!({"what": {"type": "string"}});
        spec.input_schema = json!({"type": "object", "properties": properties}).into();
    });
    let tool = std::sync::Arc::new(tool);
    let daemon = TestDaemon::with(plan(&tool, ONE)).await;
    let client = daemon.client();
    for _ in 0..3 {
        let body = json!({"tool": "risky", "arguments": {"what": "x"}});
        client.post("/api/v1/calls", &body).await.expect(202);
        let question = only(&client).await;
        client.post(&path(&question), &decide(&question, "approve")).await.expect(200);
    }
    let mut found = json!(null);
    for _ in 0..200 {
        found = client.get("/api/v1/rules/suggestions").await.expect(200);
        if found["items"][0].is_object() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert_eq!(found["items"][0]["rule"], "risky(what:x)", "{found}");
    assert_eq!(
        (&found["items"][0]["approvals"], found["items"].as_array().unwrap().len()),
        (&json!(3), 1)
    );
    let body = json!({"rules": [{"effect": "deny", "rule": "risky(what:x)"}]});
    let reply = client.post("/api/v1/rules/replay", &body).await.expect(200);
    assert_eq!(reply["differences"].as_array().unwrap().len(), 3, "{reply}");
    assert_eq!(reply["differences"][0]["after"], "deny");
    let broken = json!({"rules": [{"effect": "deny", "rule": "risky(("}]});
    client.post("/api/v1/rules/replay", &broken).await.expect(422);
    let body = json!({"name": "s", "roles": ["viewer"]});
    let (token, _) = crate::tokens::made(&daemon, body).await;
    let viewer = daemon.anybody().with_token(&token);
    viewer.get("/api/v1/rules/suggestions").await.expect(403);
    viewer.post("/api/v1/rules/replay", &json!({})).await.expect(403);
    daemon.stop().await;
}
