//! Following what was accepted to its end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fastrand::Rng;
use futures_util::StreamExt as _;
use serde_json::Value;

use super::findings::Finding;
use super::http_client::{HttpRequest, send};
use super::trial_context::TrialContext;

/// Between two looks at everything that is open.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// Looks at once.
const MAX_CONCURRENT_POLLS: usize = 8;

/// Looks at everything that is open, until everything is over.
pub(super) async fn poll_until_settled(world: Arc<TrialContext>) {
    let mut rng = Rng::with_seed(world.plan.seed ^ 5);
    while !world.over.load(Ordering::Acquire) {
        let calls = world.known.open_calls().into_iter().map(|(place, id)| (true, place, id));
        let runs = world.known.open_runs().into_iter().map(|(place, id)| (false, place, id));
        let looks: Vec<_> = calls.chain(runs).map(|look| (look, rng.fork())).collect();
        let looks = futures_util::stream::iter(looks);
        looks
            .for_each_concurrent(MAX_CONCURRENT_POLLS, |((is_call, place, id), mut rng)| {
                let world = &world;
                async move { poll_one(world, &mut rng, is_call, place, &id).await }
            })
            .await;
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn poll_one(world: &TrialContext, rng: &mut Rng, is_call: bool, place: usize, id: &str) {
    let Ok(door) = world.fleet.random_daemon(rng) else { return };
    let path = if is_call { format!("/calls/{id}") } else { format!("/runs/{id}") };
    match send(&door, HttpRequest::get(&path)).await {
        Ok(reply) if reply.status == 200 && is_call => {
            world.known.record_call(place, &reply, &world.tally);
        }
        Ok(reply) if reply.status == 200 => world.known.record_run(place, &reply, &world.tally),
        Ok(reply) if reply.later || reply.status == 503 => {}
        Ok(reply) => {
            let words = format!("{id}: {} {}", reply.status, reply.json);
            world.tally.add_finding(Finding::Lost, &words);
        }
        Err(_) => {}
    }
}

/// Waits until everything is over, for as long as it may take.
pub(super) async fn wait_all_settled(world: &TrialContext) {
    let begun = Instant::now();
    while begun.elapsed() < world.plan.patience() && !is_settled(world).await {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    world.tally.longest("settled_after_ms", begun.elapsed());
    for (_, id) in world.known.open_calls().into_iter().chain(world.known.open_runs()) {
        world.tally.add_finding(Finding::Stuck, &format!("{id} is still open"));
    }
    world.over.store(true, Ordering::Release);
}

async fn is_settled(world: &TrialContext) -> bool {
    if !world.known.open_calls().is_empty() || !world.known.open_runs().is_empty() {
        return false;
    }
    let Some(door) = world.fleet.daemon(0) else { return false };
    let pending = send(&door, HttpRequest::get("/approvals?limit=1")).await;
    let items = pending.ok().and_then(|reply| reply.json.get("items").cloned());
    items.as_ref().and_then(Value::as_array).is_some_and(Vec::is_empty)
}
