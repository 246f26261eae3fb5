//! The daemon under load: what HTTP adds to a call, how a light client fares beside a heavy one,
//! and what a call costs that waits.
//!
//! The daemon is a process of its own, this program in another role, so that its memory is its own
//! and not that of its clients.

mod bench_daemon;
mod minimal_client;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::results::Results;
pub(crate) use bench_daemon::{ROLE, serve};
use minimal_client::Connection;

/// Calls at once, and those of them that take a second (issue's figure: 5,000, 1,000 of them slow).
const CALLS: usize = 5_000;
const SLOW: usize = 1_000;
/// Calls of the light client alone, one after the other; beside the heavy one it goes on for as
/// long as that does.
const LIGHT: usize = 300;
/// Calls that are compared one by one.
const PAIRS: usize = 2_000;
/// Of all priorities (sched(7)).
const LOWEST: i32 = 19;

pub(crate) fn run(table: &mut Results) {
    runtime().block_on(async {
        overhead(table).await;
        load(table).await;
    });
}

/// One thread: the daemon that is measured needs the other processors.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// One call after the other over one connection, and the same calls at the pipeline itself in the
/// same runtime.
async fn overhead(table: &mut Results) {
    let daemon = bench_daemon::start();
    let mut connection = Connection::open(&daemon.address, &daemon.token).await;
    let pipeline = bench_daemon::direct_engine().await;
    let body = json!({"tool": "find", "arguments": {"query": "open invoices"}});
    let (mut over_http, mut at_the_pipeline) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let begun = Instant::now();
        let (status, _) = connection.post("/api/v1/calls", &body).await;
        over_http.push(begun.elapsed());
        assert_eq!(status, 200);
        let begun = Instant::now();
        pipeline.call(&body).await;
        at_the_pipeline.push(begun.elapsed());
    }
    let added = ms(percentile(&mut over_http, 50)) - ms(percentile(&mut at_the_pipeline, 50));
    table.at_most("rest: added to a call, keep-alive, loopback (median)", added, "ms", 0.2);
    table.figure("rest: one call over HTTP (median)", ms(percentile(&mut over_http, 50)), "ms");
    table.figure(
        "rest: the same at the pipeline (median)",
        ms(percentile(&mut at_the_pipeline, 50)),
        "ms",
    );
}

/// A heavy client with thousands of calls at once, and a light one that makes one after the other.
async fn load(table: &mut Results) {
    let daemon = bench_daemon::start();
    let light = daemon.token_of("light").await;
    let mut idle = light_client(&daemon.address, &light, None).await;
    let idle_p99 = ms(percentile(&mut idle, 99));
    let before = daemon.memory_kb("VmRSS");
    let connections = open(&daemon).await;
    let connected = daemon.memory_kb("VmRSS");
    let mut burst = burst(&daemon, &light, connections).await;
    let peak = daemon.memory_kb("VmHWM");
    let (status, ran) = Connection::open(&daemon.address, &daemon.token)
        .await
        .post("/api/v1/calls", &json!({"tool": "ran", "arguments": {}}))
        .await;
    assert_eq!(status, 200);
    let lost = CALLS - burst.answered.len();
    table.at_most("rest: of 5,000 calls at once, without their answer", lost as f64, "calls", 0.0);
    let twice = number(&ran).unwrap_or(0).saturating_sub(burst.answered.len() as u64);
    table.at_most("rest: of these, run twice", twice as f64, "calls", 0.0);
    table.figure("rest: answered otherwise", f64::from(burst.other), "calls");
    table.figure("rest: all of them, 1,000 of a second each", burst.took.as_secs_f64(), "s");
    let beside_p99 = ms(percentile(&mut burst.light, 99));
    table.figure("rest: a light client alone (p99)", idle_p99, "ms");
    table.figure("rest: a light client beside them (p99)", beside_p99, "ms");
    table.at_most("rest: beside / alone", beside_p99 / idle_p99, "x", 5.0);
    let each = |from: u64| peak.saturating_sub(from) as f64 / CALLS as f64;
    table.at_most("rest: memory of a waiting call, its connection too", each(before), "KB", 64.0);
    table.figure("rest: memory of a waiting call alone", each(connected), "KB");
    // As a heavy client on another machine: it has the processors that the daemon and the light
    // client leave.
    let connections = open(&daemon).await;
    rustix::process::setpriority_process(None, LOWEST).expect("a priority that goes down");
    let mut burst = self::burst(&daemon, &light, connections).await;
    let far_p99 = ms(percentile(&mut burst.light, 99));
    table.figure("rest: beside them, their client at the lowest priority (p99)", far_p99, "ms");
    table.figure("rest: of that, beside / alone", far_p99 / idle_p99, "x");
}

/// What became of thousands of calls at once.
struct Burst {
    answered: HashSet<u64>,
    other: u32,
    took: Duration,
    /// How long each call of the light client took meanwhile.
    light: Vec<Duration>,
}

async fn burst(
    daemon: &bench_daemon::DaemonProcess,
    light: &str,
    connections: Vec<Connection>,
) -> Burst {
    let over = Arc::new(AtomicBool::new(false));
    // On a thread of its own: what it waits for is the daemon, and not the clients beside it.
    let beside = std::thread::spawn({
        let (address, light, over) = (daemon.address.clone(), light.to_owned(), Arc::clone(&over));
        move || {
            // The heavy client may have lowered it, and this process may be unable to raise it.
            let _ = rustix::process::setpriority_process(None, 0);
            runtime().block_on(light_client(&address, &light, Some(over)))
        }
    });
    let begun = Instant::now();
    let mut running = tokio::task::JoinSet::new();
    for (at, mut connection) in connections.into_iter().enumerate() {
        running.spawn(async move {
            let tool = if at < SLOW { "slow" } else { "number" };
            let body = json!({"tool": tool, "arguments": {"n": at}});
            connection.post("/api/v1/calls", &body).await
        });
    }
    let mut answered = HashSet::new();
    let mut other = 0;
    while let Some(answer) = running.join_next().await {
        let (status, body) = answer.expect("a task that ends");
        match (status, number(&body)) {
            (200, Some(n)) => assert!(answered.insert(n), "{n} was answered twice"),
            _ => other += 1,
        }
    }
    let took = begun.elapsed();
    over.store(true, Ordering::Relaxed);
    Burst { answered, other, took, light: beside.join().expect("a thread that ends") }
}

async fn open(daemon: &bench_daemon::DaemonProcess) -> Vec<Connection> {
    let mut connections = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        connections.push(Connection::open(&daemon.address, &daemon.token).await);
    }
    connections
}

async fn light_client(address: &str, token: &str, over: Option<Arc<AtomicBool>>) -> Vec<Duration> {
    let mut connection = Connection::open(address, token).await;
    let body = json!({"tool": "find", "arguments": {"query": "open invoices"}});
    let mut took = Vec::new();
    let goes_on =
        |calls: usize| over.as_ref().map_or(calls < LIGHT, |over| !over.load(Ordering::Relaxed));
    while goes_on(took.len()) {
        let begun = Instant::now();
        let (status, _) = connection.post("/api/v1/calls", &body).await;
        took.push(begun.elapsed());
        assert_eq!(status, 200);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    took
}

/// The number that a tool of this bench answers.
fn number(body: &Value) -> Option<u64> {
    match body.get("result")? {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    }
}

fn percentile(samples: &mut [Duration], percent: usize) -> Duration {
    samples.sort();
    let at = (samples.len() * percent).div_ceil(100).max(1) - 1;
    samples.get(at).copied().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
