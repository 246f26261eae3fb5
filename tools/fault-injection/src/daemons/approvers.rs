//! The people who decide: through any daemon, some at the same moment through two of them, some
//! once more when it is too late.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::findings::Finding;
use super::http_client::{HttpRequest, send};
use super::trial_context::TrialContext;

/// Between two looks at the inbox.
const POLL_INTERVAL: Duration = Duration::from_millis(150);
/// Decisions at once.
const MAX_CONCURRENT_DECISIONS: usize = 16;
/// What is decided.
const DECISIONS: [&str; 8] =
    ["approve", "approve", "approve", "approve", "approve", "deny", "edit", "skip"];

/// A question as it was seen.
#[derive(Clone)]
struct OpenQuestion {
    id: String,
    nonce: String,
    args: Value,
}

/// Decides until everything is over.
pub(super) async fn decide_all(world: Arc<TrialContext>) {
    let mut rng = Rng::with_seed(world.plan.seed ^ 2);
    while !world.over.load(Ordering::Acquire) {
        let mut busy = JoinSet::new();
        for seen in inbox(&world, &mut rng).await {
            if busy.len() >= MAX_CONCURRENT_DECISIONS {
                let _ = busy.join_next().await;
            }
            let (there, rng) = (Arc::clone(&world), rng.fork());
            busy.spawn(async move { answer_question(&there, rng, seen).await });
        }
        while busy.join_next().await.is_some() {}
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// What waits, each once.
async fn inbox(world: &TrialContext, rng: &mut Rng) -> Vec<OpenQuestion> {
    let Ok(daemon) = world.fleet.random_daemon(rng) else { return Vec::new() };
    let Ok(reply) = send(&daemon, HttpRequest::get("/approvals?limit=100")).await else {
        return Vec::new();
    };
    let items = reply.json.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    let word = |item: &Value, name: &str| item.get(name)?.as_str().map(str::to_owned);
    let mut known = HashSet::new();
    let seen = items.iter().filter_map(|item| {
        let (id, nonce) = (word(item, "approval")?, word(item, "nonce")?);
        Some(OpenQuestion { id, nonce, args: item.get("args")?.clone() })
    });
    seen.filter(|seen| known.insert(seen.id.clone())).collect()
}

async fn answer_question(world: &TrialContext, mut rng: Rng, seen: OpenQuestion) {
    let decision = *rng.choice(&DECISIONS).unwrap_or(&"approve");
    // A decider at the same time, or a later one, decides differently.
    let other = if decision == "deny" { "approve" } else { "deny" };
    let (mut mine, mut theirs) = (rng.fork(), rng.fork());
    match rng.u8(..10) {
        0..=3 => {
            world.tally.count("races");
            tokio::join!(
                decide(world, &mut mine, &seen, decision),
                decide(world, &mut theirs, &seen, other)
            );
        }
        4 => {
            decide(world, &mut mine, &seen, decision).await;
            decide(world, &mut theirs, &seen, other).await;
        }
        _ => decide(world, &mut mine, &seen, decision).await,
    }
}

async fn decide(world: &TrialContext, rng: &mut Rng, seen: &OpenQuestion, decision: &str) {
    let Ok(daemon) = world.fleet.random_daemon(rng) else { return };
    let mut body = json!({"decision": decision, "nonce": seen.nonce});
    if decision == "edit" {
        let mut args = seen.args.clone();
        args["millis"] = json!(1);
        body["args"] = args;
    }
    let path = format!("/approvals/{}", seen.id);
    world.tally.count("decisions_sent");
    match send(&daemon, HttpRequest::post(&path, &body)).await {
        Ok(reply) if reply.status == 200 => {
            world.known.record_accepted_decision(&seen.id, decision);
        }
        Ok(reply) if reply.status == 409 && reply.json.get("about").is_some() => {
            world.tally.count("decisions_too_late");
            world.known.record_rejected_decision(
                &seen.id,
                reply.json.get("about").unwrap_or(&Value::Null),
            );
        }
        // The run of a question may end before it is decided.
        Ok(reply) if reply.status == 410 => world.tally.count("decisions_gone"),
        Ok(reply) if reply.later || reply.status == 503 => world.tally.count("told_to_come_later"),
        Ok(reply) => {
            let words = format!("{decision} of {}: {} {}", seen.id, reply.status, reply.json);
            world.tally.add_finding(Finding::Contradiction, &words);
        }
        // It is seen again if it does not count.
        Err(_) => world.tally.count("unanswered"),
    }
}
