//! The clients: each sends its call with an idempotency key to any daemon, and again to another
//! one, until a daemon accepts it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fastrand::Rng;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::findings::Finding;
use super::http_client::{HttpReply, HttpRequest, send};
use super::test_tools::{EFFECT, GUARDED, PURE};
use super::trial_context::TrialContext;

/// Requests at once.
const CLIENTS: usize = 64;
/// Longest time that a tool takes.
const MILLIS: u64 = 60;
/// How long it is waited before something is sent again, in milliseconds.
const RETRY_DELAY_MS: std::ops::Range<u64> = 50..250;

/// Sends everything, and returns when all of it was accepted.
pub(super) async fn send_all(world: &Arc<TrialContext>) {
    let room = Arc::new(Semaphore::new(CLIENTS));
    let mut tasks = Vec::new();
    let (calls, runs) = (world.plan.calls, world.plan.runs());
    let mut next = tokio::time::interval(world.plan.pace());
    for call in 0..calls {
        next.tick().await;
        // The last quarter is sent while the kill switch is pulled, and after.
        while call >= calls - calls / 4 && !world.unpaused.load(Ordering::Acquire) {
            world.moved.notified().await;
        }
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
        let there = Arc::clone(world);
        tasks.push(tokio::spawn(async move {
            let _permit = permit;
            one_call(&there, call).await;
        }));
        world.sent.store(call + 1, Ordering::Release);
        if call % (calls / runs).max(1) == 0 && call / (calls / runs).max(1) < runs {
            let (there, run) = (Arc::clone(world), call / (calls / runs).max(1));
            tasks.push(tokio::spawn(async move { one_run(&there, run).await }));
        }
    }
    for ended in join_all(tasks).await {
        if ended.is_err() {
            world.tally.add_finding(Finding::Contradiction, "a client broke");
        }
    }
}

async fn one_call(world: &TrialContext, call: u32) {
    let mut rng = Rng::with_seed(world.plan.seed ^ (u64::from(call) << 32));
    let tool = match rng.u8(..20) {
        0..=11 => EFFECT,
        12..=14 => PURE,
        _ => GUARDED,
    };
    let args = json!({"note": format!("call-{call}"), "millis": rng.u64(..MILLIS)});
    let wait = *[None, Some(0), Some(500)].get(rng.usize(..3)).unwrap_or(&None);
    let mut body = json!({"tool": tool, "arguments": args});
    if let Some(wait) = wait {
        body["wait_ms"] = json!(wait);
    }
    let wish = KeyedRequest { path: "/calls", key: format!("call {call}"), body };
    let accepted = |reply: &HttpReply| {
        reply
            .word("call")
            .map(|_| world.known.record_call(call as usize, reply, &world.tally))
            .is_some()
    };
    once_or_twice(world, &mut rng, &wish, accepted).await;
}

async fn one_run(world: &TrialContext, run: u32) {
    let mut rng = Rng::with_seed(world.plan.seed ^ (u64::from(run) << 32) ^ 1);
    let body = json!({"text": format!("run-{run}")});
    let wish = KeyedRequest { path: "/runs", key: format!("run {run}"), body };
    let accepted = |reply: &HttpReply| {
        let told = || world.known.record_run(run as usize, reply, &world.tally);
        reply.word("run").map(|_| told()).is_some()
    };
    once_or_twice(world, &mut rng, &wish, accepted).await;
}

/// Something that is sent until it is accepted.
struct KeyedRequest {
    path: &'static str,
    key: String,
    body: Value,
}

/// Some are sent by two clients at once.
async fn once_or_twice(
    world: &TrialContext,
    rng: &mut Rng,
    wish: &KeyedRequest,
    accepted: impl Fn(&HttpReply) -> bool + Copy,
) {
    let (mut first, mut second) = (rng.fork(), rng.fork());
    if rng.u8(..10) == 0 {
        world.tally.count("sent_by_two");
        tokio::join!(
            until_accepted(world, &mut first, wish, accepted),
            until_accepted(world, &mut second, wish, accepted)
        );
    } else {
        until_accepted(world, &mut first, wish, accepted).await;
    }
}

async fn until_accepted(
    world: &TrialContext,
    rng: &mut Rng,
    wish: &KeyedRequest,
    accepted: impl Fn(&HttpReply) -> bool,
) {
    // A daemon that was killed or paused holds it until its lease ends.
    let (begun, patience) = (Instant::now(), world.plan.patience() + world.plan.pause());
    let mut last = String::new();
    while begun.elapsed() < patience {
        let Ok(daemon) = world.fleet.random_daemon(rng) else { break };
        let ask = HttpRequest { key: Some(&wish.key), ..HttpRequest::post(wish.path, &wish.body) };
        match send(&daemon, ask).await {
            Ok(reply) if accepted(&reply) => return,
            Ok(reply) if reply.later => {
                world.tally.count("told_to_come_later");
                last = reply.json.to_string();
            }
            Ok(reply) => {
                let words = format!("{} {}: {} {}", wish.path, wish.key, reply.status, reply.json);
                return world.tally.add_finding(Finding::Contradiction, &words);
            }
            Err(error) => {
                world.tally.count("unanswered");
                last = error.to_string();
            }
        }
        tokio::time::sleep(Duration::from_millis(rng.u64(RETRY_DELAY_MS))).await;
    }
    let words = format!("{} {} was not accepted: {last}", wish.path, wish.key);
    world.tally.add_finding(Finding::Stuck, &words);
}
