//! Streams of runs: first a snapshot, then events; resumed after a disconnect, and without
//! leftovers after a reader leaves.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpStream, UnixStream};
use toolcrib_core::Effect;
use toolcrib_server::DaemonSettings;

use crate::raw_http::{request, rest, until, within};
use crate::runs::{Gate, ONE_CALL, begun, stands};
use crate::support::{Events, Plan, TestDaemon};

#[tokio::test]
async fn a_stream_begins_with_the_state_and_goes_on_with_what_happens() {
    let gate = Gate::new("gate", Effect::Pure);
    let daemon = TestDaemon::with(gate.plan(ONE_CALL)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    gate.began(1).await;
    let path = format!("/api/v1/runs/{run}/events");
    let mut events = Events::open(&client, &path, None).await;
    let first = events.next().await.unwrap();
    assert_eq!(first.name, "snapshot");
    let shown = client.get(&format!("/api/v1/runs/{run}")).await.expect(200);
    assert_eq!(first.data, shown);
    assert_eq!(first.data["items"][2]["state"], "input-available");
    gate.open(1);
    let rest = events.rest().await;
    let names: Vec<&str> = rest.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names.first(), Some(&"tool"), "{names:?}");
    assert_eq!(names.last(), Some(&"run-end"), "{names:?}");
    // An ended run is sent as one snapshot.
    let after = Events::open(&client, &path, None).await.rest().await;
    assert_eq!(after.len(), 1);
    assert_eq!((after[0].name.as_str(), &after[0].data["state"]), ("snapshot", &json!("ended")));
    daemon.stop().await;
}

/// A browser that lost its connection continues after the last event that it received; a reloaded
/// page gets the snapshot.
#[tokio::test]
async fn a_stream_goes_on_where_it_broke() {
    let gate = Gate::new("gate", Effect::Pure);
    let daemon = TestDaemon::with(gate.plan(ONE_CALL)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    gate.began(1).await;
    let path = format!("/api/v1/runs/{run}/events");
    let mut whole = Events::open(&client, &path, None).await;
    let last = whole.next().await.unwrap().id;
    let mut resumed = Events::open(&client, &path, Some(&last)).await;
    let mut stale = Events::open(&client, &path, Some("00000000-1")).await;
    assert_eq!(stale.next().await.unwrap().name, "snapshot");
    gate.open(1);
    let next = resumed.next().await.unwrap();
    assert_eq!(Some(next.clone()), whole.next().await);
    assert_eq!(next.name, "tool");
    assert_eq!(resumed.rest().await, whole.rest().await);
    daemon.stop().await;
}

/// Test S1 of reliability.md: a hundred readers disconnect in mid-stream; the run continues, and no
/// trace of them remains.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_go_leave_nothing_behind() {
    let gate = Gate::new("gate", Effect::Pure);
    let daemon = TestDaemon::with(gate.plan(ONE_CALL)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    gate.began(1).await;
    let path = format!("/api/v1/runs/{run}/events");
    let mut readers = Vec::new();
    for _ in 0..100 {
        let mut events = Events::open(&client, &path, None).await;
        events.next().await.unwrap();
        readers.push(events);
    }
    assert_eq!(daemon.daemon.run_subscribers(), 100);
    drop(readers);
    // The daemon notices the disconnect at the next write to its sockets.
    while daemon.daemon.run_subscribers() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    gate.open(1);
    let view = stands(&client, &run, "ended").await;
    assert_eq!(view["text"], "Done.");
    assert_eq!(gate.tool.runs(), 1);
    daemon.stop().await;
}

#[tokio::test]
async fn a_request_can_be_answered_with_the_events_of_its_run() {
    let script = "turns:\n  - think: Hm.\n    say: Hello there.\n";
    let daemon = TestDaemon::with(Plan { script: script.into(), ..Plan::default() }).await;
    let client = daemon.client().with("accept", "text/event-stream");
    let body = json!({"text": "hi"});
    let response = client.open(hyper::Method::POST, "/api/v1/runs", Some(&body)).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let place = response.headers()["location"].to_str().unwrap().to_owned();
    let events = Events::of(response.into_body()).rest().await;
    assert_eq!(events[0].name, "snapshot");
    let ended = events.last().unwrap();
    let text = |event: &Value| event["text"].clone();
    assert_eq!(text(&ended.data), "Hello there.");
    assert_eq!(text(&daemon.client().get(&place).await.expect(200)), "Hello there.");
    daemon.stop().await;
}

#[tokio::test]
async fn everything_that_is_ones_own_is_one_stream() {
    let gate = Gate::new("gate", Effect::Pure);
    let daemon = TestDaemon::with(gate.plan(ONE_CALL)).await;
    let client = daemon.client();
    let mut events = Events::open(&client, "/api/v1/events", None).await;
    let first = events.next().await.unwrap();
    assert_eq!((first.name.as_str(), &first.data["runs"]), ("snapshot", &json!([])));
    let run = begun(&client, &json!({"text": "go"})).await;
    let working = events.until("run").await;
    assert_eq!((&working.data["run"], &working.data["state"]), (&json!(run), &json!("running")));
    gate.began(1).await;
    gate.open(1);
    let ended = events.until("run").await;
    assert_eq!(
        (&ended.data["state"], &ended.data["status"]),
        (&json!("ended"), &json!("completed"))
    );
    let mut resumed = Events::open(&client, "/api/v1/events", Some(&working.id)).await;
    assert_eq!(resumed.next().await, Some(ended));
    daemon.stop().await;
}

/// Regression: a subscriber reads a run as soon as an event names it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_was_announced_before_it_could_be_read() {
    const RUNS: usize = 20;
    let plan = Plan { durable: true, ..Plan::default() };
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let mut events = Events::open(&client, "/api/v1/events", None).await;
    events.next().await.unwrap();
    for _ in 0..RUNS {
        let (sender, body) = (daemon.client(), json!({"text": "go", "wait": true}));
        let started = tokio::spawn(async move { sender.post("/api/v1/runs", &body).await });
        let working = events.until("run").await;
        assert_eq!(working.data["state"], "running");
        let run = working.data["run"].as_str().unwrap();
        client.get(&format!("/api/v1/runs/{run}")).await.expect(200);
        let ended = events.until("run").await;
        assert_eq!((&ended.data["run"], &ended.data["state"]), (&json!(run), &json!("ended")));
        started.await.unwrap().expect(200);
    }
    daemon.stop().await;
}

/// A silent stream stays open through pings.
#[tokio::test]
async fn a_silent_stream_is_pinged() {
    assert_eq!(DaemonSettings::new("daemon").ping_interval, Duration::from_secs(15));
    let gate = Gate::new("gate", Effect::Pure);
    let plan = gate.plan(ONE_CALL);
    let daemon = TestDaemon::with(Plan {
        daemon: Box::new(|settings| settings.ping_interval = Duration::from_millis(20)),
        ..plan
    });
    let daemon = daemon.await;
    let run = begun(&daemon.client(), &json!({"text": "go"})).await;
    gate.began(1).await;
    for path in ["/api/v1/events".to_owned(), format!("/api/v1/runs/{run}/events")] {
        let mut stream = opened(&daemon, &path).await;
        until(&mut stream, ": ping\n\n").await;
        // The ping is repeated.
        until(&mut stream, ": ping\n\n").await;
    }
    gate.open(1);
    daemon.stop().await;
}

/// Opens a stream and reads nothing yet.
async fn opened(daemon: &TestDaemon, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(daemon.address).await.unwrap();
    let headers = format!("Authorization: Bearer {}\r\n", daemon.token());
    let sent = request(daemon.address, &format!("GET {path}"), &headers);
    stream.write_all(sent.as_bytes()).await.unwrap();
    stream
}

/// A reader that stops reading, such as a telephone in a tunnel, does not delay the run; its later
/// reads begin with a snapshot and finish with the end of the run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_stands_still_does_not_hold_a_run_back() {
    const TURNS: usize = 2;
    let long = "All work and no play. ".repeat(1_000);
    let turn = |at| format!("  - say: {long:?}\n    calls: [{{tool: gate, args: {{at: {at}}}}}]\n");
    let turns: String = (0..TURNS).map(turn).collect();
    let script = format!("turns:\n{turns}  - say: Done.\n");
    let gate = Gate::new("gate", Effect::Pure);
    let daemon = TestDaemon::with(gate.plan(&script)).await;
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    gate.began(1).await;
    let path = format!("/api/v1/runs/{run}/events");
    // The system buffers little for such a socket, and 4 MB for a TCP socket.
    let mut still = UnixStream::connect(daemon.socket()).await.unwrap();
    let sent = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n");
    still.write_all(sent.as_bytes()).await.unwrap();
    until(&mut still, "\r\n\r\n").await;
    gate.open(TURNS);
    let view = within(stands(&client, &run, "ended")).await;
    assert!(view.to_string().len() > TURNS * long.len());
    let late = rest(&mut still).await;
    assert!(late.contains("event: snapshot"), "what it missed is not told one by one");
    let last = late.rsplit("event: ").next().unwrap();
    assert!(last.starts_with("run-end") || last.contains("\"state\":\"ended\""), "{last:.200}");
    daemon.stop().await;
}
