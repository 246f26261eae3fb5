//! Runs over HTTP: starting, waiting, stopping, messaging and listing them.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolcrib_core::{Context, Effect, ToolOutput};
use toolcrib_testkit::conformance::question;
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::support::{Client, Events, Plan, TestDaemon};

/// A tool that reports its start and runs until it is released.
pub(crate) struct Gate {
    pub(crate) tool: Arc<ScriptedTool>,
    began: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new(name: &str, effect: Effect) -> Self {
        let (began, open) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (says, waits) = (Arc::clone(&began), Arc::clone(&open));
        let tool = ScriptedTool::new(name).spec(|spec| spec.effect = effect).does(move |_, _| {
            let (says, waits) = (Arc::clone(&says), Arc::clone(&waits));
            Box::pin(async move {
                says.add_permits(1);
                waits.acquire().await.unwrap().forget();
                Ok(ToolOutput::text("let through"))
            })
        });
        Self { tool: Arc::new(tool), began, open }
    }

    /// Waits until this many more calls have started.
    pub(crate) async fn began(&self, calls: u32) {
        self.began.acquire_many(calls).await.unwrap().forget();
    }

    /// Lets this many calls continue.
    pub(crate) fn open(&self, calls: usize) {
        self.open.add_permits(calls);
    }

    pub(crate) fn plan(&self, script: &str) -> Plan {
        let tool = Arc::clone(&self.tool);
        Plan {
            script: script.to_owned(),
            builder: Box::new(move |builder| builder.source(fixed_source("test", &[&tool]))),
            daemon: Box::new(|settings| {
                settings.recovery_interval = std::time::Duration::from_millis(50);
            }),
            durable: true,
            ..Plan::default()
        }
    }
}

#[tokio::test]
async fn conversations_are_searched_by_their_text() {
    let script = "turns:\n  - say: The lighthouse is white.\n  - say: It is Tall.\n";
    let daemon = TestDaemon::with(Plan { script: script.into(), ..Plan::default() }).await;
    let client = daemon.client();
    let ask = |text: &str| {
        let body = json!({"text": text, "wait": true});
        let client = daemon.client();
        async move { client.post("/api/v1/runs", &body).await.expect(200) }
    };
    let first = ask("What color has the harbour?").await;
    ask("How are you?").await;
    let found = async |find: &str| {
        let path = format!("/api/v1/conversations/search?find={find}");
        client.get(&path).await.expect(200)["items"].as_array().unwrap().clone()
    };
    let hits = found("HARBOUR%20what").await;
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!((&hits[0]["run"], &hits[0]["typed"]), (&first["run"], &json!(true)));
    assert_eq!(hits[0]["excerpt"], "What color has the harbour?");
    assert_eq!(found("lighthouse").await.len(), 2);
    assert_eq!(found("harbour%20lighthouse").await.len(), 0);
    let page = client.get("/api/v1/conversations/search?find=lighthouse&limit=1").await.expect(200);
    let next = page["next"].as_str().unwrap();
    let path = format!("/api/v1/conversations/search?find=lighthouse&limit=1&cursor={next}");
    let rest = client.get(&path).await.expect(200);
    assert_eq!(rest["items"][0]["conversation"], first["conversation"]);
    client.get("/api/v1/conversations/search?find=%20").await.expect(422);
    daemon.stop().await;
}

pub(crate) const ONE_CALL: &str = "turns:
  - say: I wait.
    calls: [{tool: gate, args: {}}]
  - say: Done.
";

pub(crate) async fn begun(client: &Client, body: &Value) -> String {
    let run = client.post("/api/v1/runs", body).await.expect(202);
    run["run"].as_str().unwrap().to_owned()
}

/// Polls until a run has this state.
pub(crate) async fn stands(client: &Client, run: &str, state: &str) -> Value {
    loop {
        let view = client.get(&format!("/api/v1/runs/{run}")).await.expect(200);
        if view["state"] == state {
            return view;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn one_request_runs_a_whole_loop_and_returns_the_answer() {
    let script = "turns:
  - say: I look.
    calls: [{tool: read_file, args: {path: notes.md}}]
    usage: {input: 10, output: 2}
  - say: You wanted milk.
    usage: {input: 20, output: 3}
";
    let daemon = TestDaemon::with(Plan { script: script.into(), ..Plan::default() }).await;
    std::fs::write(daemon.workspace().join("notes.md"), "milk").unwrap();
    let client = daemon.client();
    let answer = client.post("/api/v1/runs", &json!({"text": "What?", "wait": true})).await;
    let run = answer.expect(200);
    assert_eq!((&run["state"], &run["status"]), (&json!("ended"), &json!("completed")));
    assert_eq!(run["text"], "You wanted milk.");
    assert_eq!(run["usage"]["input"], 30);
    let items: Vec<&str> = run["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["item"].as_str().unwrap())
        .collect();
    assert_eq!(items, ["message", "answer", "call", "answer"]);
    let call = &run["items"][2];
    assert_eq!(call["state"], "output-available");
    assert!(call["output"].to_string().contains("milk"));
    let place = answer.headers["location"].to_str().unwrap();
    // The view of the stored run is the same.
    let stored = client.get(place).await.expect(200);
    assert_eq!(stored["text"], run["text"]);
    assert_eq!(stored["items"][2]["output"], call["output"]);
    assert_eq!(stored["items"][2]["call"], call["call"]);
    let list = client.get("/api/v1/runs").await.expect(200);
    assert_eq!(list["items"][0]["run"], run["run"]);
    daemon.stop().await;
}

/// Regression: the calls of an ended run had neither `elapsed_ms` nor `outcome`, and a scripted
/// model was shown as a real one.
#[tokio::test]
async fn an_ended_run_tells_what_it_told_while_it_worked() {
    let script = "turns:
  - calls: [{tool: read_file, args: {path: notes.md}}, {tool: read_file, args: {path: none.md}}]
  - say: Done.
";
    let daemon =
        TestDaemon::with(Plan { script: script.into(), durable: true, ..Plan::default() }).await;
    std::fs::write(daemon.workspace().join("notes.md"), "milk").unwrap();
    let client = daemon.client();
    let run = client.post("/api/v1/runs", &json!({"text": "x", "wait": true})).await.expect(200);
    let place = format!("/api/v1/runs/{}", run["run"].as_str().unwrap());
    for shown in [client.get(&place).await.expect(200), run] {
        assert_eq!(shown["scripted"], true, "{shown}");
        let calls: Vec<&Value> =
            shown["items"].as_array().unwrap().iter().filter(|i| i["item"] == "call").collect();
        let outcomes: Vec<&Value> = calls.iter().map(|call| &call["outcome"]).collect();
        assert_eq!(outcomes, ["succeeded", "failed"], "{shown}");
        assert!(calls.iter().all(|call| call["elapsed_ms"].is_u64()), "{shown}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_conversation_goes_on_and_is_read_page_by_page() {
    let script = "turns:\n  - say: One.\n  - say: Two.\n  - say: Three.\n";
    let daemon = TestDaemon::with(Plan { script: script.into(), ..Plan::default() }).await;
    let client = daemon.client();
    let first = client.post("/api/v1/runs", &json!({"text": "a", "wait": true})).await.expect(200);
    let talk = first["conversation"].as_str().unwrap().to_owned();
    for (text, said) in [("b", "Two."), ("c", "Three.")] {
        let body = json!({"text": text, "conversation": talk, "wait": true});
        assert_eq!(client.post("/api/v1/runs", &body).await.expect(200)["text"], said);
    }
    let head = client.get(&format!("/api/v1/conversations/{talk}")).await.expect(200);
    assert_eq!(head["title"], "a");
    let path = format!("/api/v1/conversations/{talk}/messages?limit=4");
    let page = client.get(&path).await.expect(200);
    assert_eq!(page["items"].as_array().unwrap().len(), 4);
    let next = page["next"].as_str().unwrap();
    let rest = client.get(&format!("{path}&cursor={next}")).await.expect(200);
    let seqs: Vec<u64> =
        rest["items"].as_array().unwrap().iter().map(|row| row["seq"].as_u64().unwrap()).collect();
    assert_eq!((seqs, &rest["next"]), (vec![4, 5], &Value::Null));
    let other = client.post("/api/v1/runs", &json!({"text": "x", "wait": true})).await.expect(200);
    let wrong = other["conversation"].as_str().unwrap();
    let wrong = client.get(&format!("/api/v1/conversations/{wrong}/messages?cursor={next}")).await;
    assert_eq!(wrong.problem(), "bad_cursor");
    let list = client.get("/api/v1/conversations?limit=1").await.expect(200);
    let next = list["next"].as_str().unwrap();
    let last =
        client.get(&format!("/api/v1/conversations?limit=1&cursor={next}")).await.expect(200);
    assert_eq!(last["items"][0]["conversation"], json!(talk));
    daemon.stop().await;
}

#[tokio::test]
async fn a_deleted_conversation_is_restored_with_its_messages_and_runs() {
    let daemon = TestDaemon::with(Plan {
        script: "turns: [{say: Behind the hedge.}]".into(),
        ..Plan::default()
    })
    .await;
    let client = daemon.client();
    let body = json!({"text": "Where does the tent go?", "wait": true});
    let run = client.post("/api/v1/runs", &body).await.expect(200);
    let path = format!("/api/v1/conversations/{}", run["conversation"].as_str().unwrap());
    let messages = client.get(&format!("{path}/messages")).await.expect(200);
    let mut events = Events::open(&client, "/api/v1/events", None).await;
    client.delete(&path).await.expect(204);
    let event = events.until("conversations.changed").await;
    assert_eq!(event.data, json!({"conversation": run["conversation"], "deleted": true}));
    assert_eq!(client.get("/api/v1/conversations").await.expect(200)["items"], json!([]));
    assert_eq!(client.get(&format!("{path}/messages")).await.problem(), "not_found");
    let deleted = client.get("/api/v1/conversations?deleted=true").await.expect(200);
    assert_eq!(deleted["items"][0]["conversation"], run["conversation"]);
    assert!(deleted["items"][0]["deleted_at"].is_i64(), "{deleted}");
    let back = client.post(&format!("{path}/restore"), &json!({})).await.expect(200);
    assert!(back.get("deleted_at").is_none(), "{back}");
    assert_eq!(events.until("conversations.changed").await.data["deleted"], json!(false));
    assert_eq!(client.get(&format!("{path}/messages")).await.expect(200), messages);
    let run = format!("/api/v1/runs/{}", run["run"].as_str().unwrap());
    assert_eq!(client.get(&run).await.expect(200)["state"], json!("ended"));
    let again = client.post(&format!("{path}/restore"), &json!({})).await;
    assert_eq!(again.problem(), "not_found");
    client.delete(&format!("{path}?forever=true")).await.expect(204);
    assert_eq!(client.post(&format!("{path}/restore"), &json!({})).await.problem(), "not_found");
    assert_eq!(client.delete(&path).await.problem(), "not_found");
    daemon.stop().await;
}

#[tokio::test]
async fn a_conversation_is_deleted_once_nothing_works_in_it() {
    let gate = Gate::new("gate", Effect::Read);
    let daemon = TestDaemon::with(gate.plan(ONE_CALL)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "Wait"})).await;
    gate.began(1).await;
    let view = client.get(&format!("/api/v1/runs/{run}")).await.expect(200);
    let path = format!("/api/v1/conversations/{}", view["conversation"].as_str().unwrap());
    let early = client.delete(&path).await;
    assert_eq!(early.expect(409)["about"]["run"], json!(run));
    assert_eq!(client.get(&path).await.status, 200);
    gate.open(1);
    stands(&client, &run, "ended").await;
    // Its question is withdrawn: the run will not be found, and the call would otherwise continue
    // alone.
    let approvals = Arc::clone(daemon.toolcrib.approvals());
    let mut open = [question(), question()];
    open[0].request.context = Context::default();
    open[0].request.context.conversation = view["conversation"].as_str().unwrap().to_owned();
    for open in open.clone() {
        approvals.ask(open).await.unwrap();
    }
    client.delete(&path).await.expect(204);
    let [(_, closed), (_, other)] = [
        approvals.get(open[0].request.id).await.unwrap().unwrap(),
        approvals.get(open[1].request.id).await.unwrap().unwrap(),
    ];
    assert_eq!(closed.map(|record| record.decided_by), Some("removed".to_owned()));
    assert_eq!(other, None, "the question of another conversation");
    for path in [path.clone(), format!("{path}/messages"), format!("/api/v1/runs/{run}")] {
        assert_eq!(client.get(&path).await.problem(), "not_found", "{path}");
    }
    assert_eq!(client.delete(&path).await.problem(), "not_found");
    let calls = client.get("/api/v1/calls").await.expect(200);
    assert_eq!(calls["items"][0]["tool"], "gate", "{calls}");
    daemon.stop().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_before_anything_runs() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let check = async |body: Value, status: u16, code: &str| {
        let answer = client.post("/api/v1/runs", &body).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, code), "{body}");
    };
    check(json!({"text": ""}), 422, "invalid").await;
    check(json!({"text": "a", "limits": {"rounds": 0}}), 422, "invalid").await;
    check(json!({"text": "a", "limits": {"calls": 0}}), 422, "invalid").await;
    check(json!({"text": "a", "agent": "nobody"}), 404, "not_found").await;
    check(json!({"text": "a", "skill": "nothing"}), 422, "invalid").await;
    check(json!({"text": "a", "conversation": "conv_1"}), 404, "not_found").await;
    let none = format!("conv_{:032x}", 7);
    check(json!({"text": "a", "conversation": none}), 404, "not_found").await;
    check(json!({"text": "a", "wait": true, "stream": true}), 422, "invalid").await;
    check(json!({"text": "a", "model": "turns: 1"}), 422, "invalid").await;
    let none = format!("run_{:032x}", 7);
    for path in ["", "/events"] {
        let answer = client.get(&format!("/api/v1/runs/{none}{path}")).await;
        assert_eq!(answer.problem(), "not_found");
    }
    for what in ["stop", "resume"] {
        let answer = client.post(&format!("/api/v1/runs/{none}/{what}"), &json!({})).await;
        assert_eq!(answer.problem(), "not_found");
    }
    assert_eq!(client.get("/api/v1/runs/x").await.problem(), "not_found");
    assert_eq!(client.get("/api/v1/runs?state=odd").await.problem(), "bad_request");
    assert_eq!(client.get("/api/v1/runs?limit=501").await.problem(), "invalid");
    assert_eq!(client.get("/api/v1/runs?cursor=x").await.problem(), "bad_cursor");
    let list = client.get("/api/v1/runs").await.expect(200);
    assert_eq!(list["items"], json!([]));
    daemon.stop().await;
}

#[tokio::test]
async fn a_run_is_stopped_for_good() {
    let gate = Gate::new("gate", Effect::SideEffect);
    let daemon = TestDaemon::with(gate.plan(ONE_CALL)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    gate.began(1).await;
    let path = format!("/api/v1/runs/{run}");
    let stopped = client.post(&format!("{path}/stop"), &json!({})).await.expect(200);
    assert_eq!((&stopped["state"], &stopped["status"]), (&json!("ended"), &json!("stopped")));
    // A second stop gets the same answer; a message is refused.
    client.post(&format!("{path}/stop"), &json!({})).await.expect(200);
    let late = client.post(&format!("{path}/steer"), &json!({"text": "and?"})).await;
    assert_eq!(late.problem(), "conflict");
    assert_eq!(client.post(&format!("{path}/resume"), &json!({})).await.problem(), "conflict");
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_said_meanwhile_is_heard_at_the_next_boundary() {
    let script = "turns:
  - say: I wait.
    calls: [{tool: gate, args: {}}]
  - expect: {last_user_contains: milk}
    say: Milk then.
";
    let gate = Gate::new("gate", Effect::Pure);
    let daemon = TestDaemon::with(gate.plan(script)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    gate.began(1).await;
    let path = format!("/api/v1/runs/{run}/steer");
    assert_eq!(client.post(&path, &json!({"text": " "})).await.problem(), "invalid");
    client.post(&path, &json!({"text": "bring milk"})).await.expect(202);
    gate.open(1);
    let view = stands(&client, &run, "ended").await;
    assert_eq!((&view["status"], &view["text"]), (&json!("completed"), &json!("Milk then.")));
    daemon.stop().await;
}

/// Regression: only the message that starts a run could contain images.
#[tokio::test]
async fn images_are_said_to_a_run_at_work() {
    let script = "turns:
  - say: I wait.
    calls: [{tool: gate, args: {}}]
  - expect: {last_user_contains: the plan}
    say: I see.
";
    let gate = Gate::new("gate", Effect::Pure);
    let daemon = TestDaemon::with(gate.plan(script)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    gate.began(1).await;
    let path = format!("/api/v1/runs/{run}/steer");
    // The first bytes of a GIF.
    let image = json!({"media_type": "image/gif", "data": "R0lGODlhAQABAAAAACw="});
    let refused = [
        json!([{"media_type": "image/svg+xml", "data": "PHN2Zy8+"}]),
        json!([{"media_type": "image/png", "data": "R0lGODlhAQABAAAAACw="}]),
        json!([{"media_type": "image/gif", "data": "no base64"}]),
        json!(vec![image.clone(); 9]),
    ];
    for images in refused {
        let body = json!({"text": "the plan", "images": images});
        assert_eq!(client.post(&path, &body).await.problem(), "invalid", "{images}");
    }
    let empty = json!({"text": "", "images": [image]});
    assert_eq!(client.post(&path, &empty).await.problem(), "invalid");
    let body = json!({"text": "the plan", "images": [image, image]});
    client.post(&path, &body).await.expect(202);
    gate.open(1);
    let live = stands(&client, &run, "ended").await;
    assert_eq!((&live["status"], &live["text"]), (&json!("completed"), &json!("I see.")));
    let said = |view: &Value| {
        let items = view["items"].as_array().unwrap();
        let queued: Vec<_> = items.iter().filter(|item| item["kind"] == "queued").collect();
        assert_eq!(queued.len(), 1, "{view}");
        (queued[0]["text"].clone(), queued[0]["images"].clone())
    };
    assert_eq!(said(&live), (json!("the plan"), json!(2)));
    daemon.stop().await;
}

#[tokio::test]
async fn two_runs_do_not_work_in_one_conversation() {
    let script = format!("{ONE_CALL}  - say: More.\n");
    let gate = Gate::new("gate", Effect::Pure);
    let daemon = TestDaemon::with(gate.plan(&script)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    gate.began(1).await;
    let view = client.get(&format!("/api/v1/runs/{run}")).await.expect(200);
    let body = json!({"text": "more", "conversation": view["conversation"], "wait": true});
    let second = client.post("/api/v1/runs", &body).await;
    assert_eq!(second.problem(), "conflict");
    assert_eq!(second.json()["about"]["run"], json!(run));
    gate.open(1);
    stands(&client, &run, "ended").await;
    assert_eq!(client.post("/api/v1/runs", &body).await.expect(200)["text"], "More.");
    daemon.stop().await;
}

#[tokio::test]
async fn a_client_has_its_share_of_runs() {
    let gate = Gate::new("gate", Effect::Pure);
    let mut plan = gate.plan(ONE_CALL);
    plan.daemon = Box::new(|settings| settings.runs_of_client = 2);
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let runs =
        [begun(&client, &json!({"text": "a"})).await, begun(&client, &json!({"text": "b"})).await];
    gate.began(2).await;
    let third = client.post("/api/v1/runs", &json!({"text": "c"})).await;
    assert_eq!(third.problem(), "rate_limited");
    assert!(third.headers.contains_key("retry-after"));
    gate.open(2);
    for run in &runs {
        stands(&client, run, "ended").await;
    }
    gate.open(1);
    let body = json!({"text": "c", "wait": true});
    assert_eq!(client.post("/api/v1/runs", &body).await.expect(200)["text"], "Done.");
    daemon.stop().await;
}

/// Test S2 of reliability.md: each of a hundred requests is sent twice at the same time and starts
/// one run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_request_sent_twice_is_one_run() {
    let plan = Plan {
        durable: true,
        daemon: Box::new(|settings| {
            settings.runs_of_client = 1_000;
            settings.runs_at_once = 1_000;
        }),
        ..Plan::default()
    };
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    for pair in 0..100 {
        let keyed = client.clone().with("idempotency-key", &format!("pair {pair}"));
        let body = json!({"text": format!("say {pair}"), "wait": pair % 2 == 0});
        let (one, two) =
            tokio::join!(keyed.post("/api/v1/runs", &body), keyed.post("/api/v1/runs", &body));
        for answer in [&one, &two] {
            assert!(answer.status.is_success(), "{}", answer.text);
        }
        assert_eq!(one.json()["run"], two.json()["run"], "pair {pair}");
        let other = keyed.post("/api/v1/runs", &json!({"text": "something else"})).await;
        assert_eq!(other.problem(), "conflict");
    }
    let list = client.get("/api/v1/runs?limit=500").await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 100);
    for key in [" ", &"x".repeat(300)] {
        let keyed = client.clone().with("idempotency-key", key);
        let refused = keyed.post("/api/v1/runs", &json!({"text": "a"})).await;
        assert_eq!(refused.problem(), "bad_request");
    }
    // The limits are those of calls: 200 characters, and one key.
    let longest = client.clone().with("idempotency-key", &"x".repeat(200));
    let body = json!({"text": "a", "wait": true});
    let runs =
        [longest.post("/api/v1/runs", &body).await, longest.post("/api/v1/runs", &body).await];
    assert_eq!(runs[0].expect(200)["run"], runs[1].expect(200)["run"]);
    let two = client.with("idempotency-key", "a").with("idempotency-key", "b");
    assert_eq!(two.post("/api/v1/runs", &body).await.problem(), "bad_request");
    daemon.stop().await;
}

/// A request that failed before its run started can be repeated under its key.
#[tokio::test]
async fn a_key_whose_run_never_began_is_still_good() {
    let gate = Gate::new("gate", Effect::Pure);
    let mut plan = gate.plan(ONE_CALL);
    plan.daemon = Box::new(|settings| settings.runs_of_client = 1);
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let first = begun(&client, &json!({"text": "a"})).await;
    gate.began(1).await;
    let keyed = client.clone().with("idempotency-key", "second");
    let body = json!({"text": "b", "wait": true});
    assert_eq!(keyed.post("/api/v1/runs", &body).await.problem(), "rate_limited");
    gate.open(2);
    stands(&client, &first, "ended").await;
    assert_eq!(keyed.post("/api/v1/runs", &body).await.expect(200)["text"], "Done.");
    daemon.stop().await;
}

/// A run has only the tools of the token that started it, even after a pause.
#[tokio::test]
async fn a_run_has_no_more_tools_than_its_token() {
    let script = "turns:
  - expect: {tools_include: [read_file], tools_exclude: [write_file]}
    calls: [{tool: write_file, args: {path: a, content: b}}]
  - say: Not written.
";
    let daemon = TestDaemon::with(Plan { script: script.into(), ..Plan::default() }).await;
    let token = json!({"name": "reader", "roles": ["caller"], "tools": ["read_file"]});
    let token = daemon.client().post("/api/v1/tokens", &token).await.expect(201);
    let client = daemon.anybody().with_token(token["token"].as_str().unwrap());
    let run = client.post("/api/v1/runs", &json!({"text": "go", "wait": true})).await.expect(200);
    assert_eq!(run["text"], "Not written.", "{run}");
    assert!(!daemon.workspace().join("a").exists());
    daemon.stop().await;
}

/// Regression, found in review: a token that is limited to some tools sent a message to a run of
/// the owner, and used all of its tools.
#[tokio::test]
async fn a_run_is_steered_by_its_owner_or_an_approver() {
    let gate = Gate::new("gate", Effect::Pure);
    let daemon = TestDaemon::with(gate.plan(ONE_CALL)).await;
    let owner = daemon.client();
    let token = async |name: &str, roles: Value, tools: Value| {
        let wanted = json!({"name": name, "roles": roles, "tools": tools});
        let made = owner.post("/api/v1/tokens", &wanted).await.expect(201);
        daemon.anybody().with_token(made["token"].as_str().unwrap())
    };
    let limited = token("limited", json!(["caller", "approver"]), json!(["gate"])).await;
    let caller = token("caller", json!(["caller"]), Value::Null).await;
    let approver = token("approver", json!(["caller", "approver"]), Value::Null).await;
    let run = begun(&owner, &json!({"text": "go"})).await;
    gate.began(1).await;
    let words = json!({"text": "and delete everything"});
    let at = |what: &str| format!("/api/v1/runs/{run}/{what}");
    for client in [&limited, &caller] {
        assert_eq!(client.post(&at("steer"), &words).await.problem(), "forbidden");
        assert_eq!(client.post(&at("resume"), &json!({})).await.problem(), "forbidden");
    }
    assert_eq!(limited.post(&at("stop"), &json!({})).await.problem(), "forbidden");
    let call = owner.get(&format!("/api/v1/calls?run={run}")).await.expect(200);
    let call = call["items"][0]["call"].as_str().unwrap();
    let cancel = format!("/api/v1/calls/{call}/cancel");
    assert_eq!(limited.post(&cancel, &json!({})).await.problem(), "forbidden");
    approver.post(&at("steer"), &json!({"text": "thank you"})).await.expect(202);
    gate.open(1);
    let view = stands(&owner, &run, "ended").await;
    assert!(view.to_string().contains("thank you") && !view.to_string().contains("everything"));
    // The token may control its own runs.
    let own = begun(&limited, &json!({"text": "go"})).await;
    gate.began(1).await;
    limited.post(&format!("/api/v1/runs/{own}/steer"), &words).await.expect(202);
    caller.post(&format!("/api/v1/runs/{own}/stop"), &json!({})).await.expect(200);
    daemon.stop().await;
}
