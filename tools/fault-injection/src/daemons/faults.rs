//! The faults of the daemons during a trial.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rustix::process::Signal;
use serde_json::json;
use tokio::sync::Mutex;

use super::findings::Finding;
use super::http_client::{HttpRequest, send};
use super::test_tools::now;
use super::trial_context::{DATABASE, TrialContext};
use crate::error::Result;

/// Between two kills, in milliseconds.
const KILLS: std::ops::Range<u64> = 300..2_500;
/// How long a daemon stays dead, in milliseconds.
const DOWN_TIME: std::ops::Range<u64> = 20..500;
/// How long the kill switch stays pulled once a daemon has been started meanwhile.
const KILL_SWITCH_TIME: Duration = Duration::from_millis(500);
/// Tries to pull it or to let it go.
const TRIES: u32 = 50;

/// Does everything that is done to the daemons; when it returns, all of them work.
pub(super) async fn inject_faults(world: Arc<TrialContext>) -> Result<()> {
    let paused = Arc::new(Mutex::new(None));
    let kills = tokio::spawn(kill(Arc::clone(&world), Arc::clone(&paused)));
    let done = events(&world, &paused).await;
    world.unpaused.store(true, Ordering::Release);
    world.moved.notify_one();
    while world.sent.load(Ordering::Acquire) < world.plan.calls {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.calm.store(true, Ordering::Release);
    kills.await??;
    done
}

/// The lease of a process that is dead or paused, ended by hand where there is no time to wait for
/// that.
fn end_lease(world: &TrialContext, process: Option<u32>) {
    let Some(process) = process.filter(|_| world.plan.hurry) else { return };
    let sql = format!(
        "UPDATE workers SET expires_at = now() - interval '1 hour', suspected_at = now() - interval '1 minute' WHERE who = 'process {process}' AND state = 'working'"
    );
    tokio::task::block_in_place(|| world.server.sql(DATABASE, &sql));
}

/// Kills one after the other, or stops it, but not the one that is paused.
async fn kill(world: Arc<TrialContext>, paused: Arc<Mutex<Option<usize>>>) -> Result<()> {
    let mut rng = Rng::with_seed(world.plan.seed ^ 3);
    while !world.calm.load(Ordering::Acquire) {
        tokio::time::sleep(Duration::from_millis(rng.u64(KILLS))).await;
        let node = rng.usize(..world.fleet.count());
        // Held until it works again: the one that is paused next is another.
        let paused = paused.lock().await;
        if *paused == Some(node) || world.calm.load(Ordering::Acquire) {
            continue;
        }
        kill_one(&world, &mut rng, node).await?;
    }
    Ok(())
}

async fn kill_one(world: &TrialContext, rng: &mut Rng, node: usize) -> Result<()> {
    if rng.u8(..5) == 0 {
        world.tally.count("stops");
        world.fleet.stop(node, &world.tally).await?;
    } else {
        world.tally.count("kills");
        let process = world.fleet.kill(node).await?;
        end_lease(world, process);
    }
    tokio::time::sleep(Duration::from_millis(rng.u64(DOWN_TIME))).await;
    world.fleet.start(node, &world.tally).await
}

/// A pause, and then the kill switch.
async fn events(world: &TrialContext, paused: &Mutex<Option<usize>>) -> Result<()> {
    let mut rng = Rng::with_seed(world.plan.seed ^ 4);
    while world.sent.load(Ordering::Acquire) < world.plan.calls / 5 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let node = rng.usize(..world.fleet.count());
    *paused.lock().await = Some(node);
    world.tally.count("pauses");
    let process = world.fleet.signal(node, Signal::STOP).await?;
    end_lease(world, process);
    tokio::time::sleep(world.plan.pause()).await;
    world.fleet.signal(node, Signal::CONT).await?;
    // Nothing is killed until the switch is let go, but what is meant.
    let mut quiet = paused.lock().await;
    *quiet = None;
    world.unpaused.store(true, Ordering::Release);
    world.moved.notify_one();
    while world.sent.load(Ordering::Acquire) < world.plan.calls * 4 / 5 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    toggle_kill_switch(world, &mut rng).await
}

/// While it is pulled, nothing starts anywhere, not even on a daemon that is started then.
async fn toggle_kill_switch(world: &TrialContext, rng: &mut Rng) -> Result<()> {
    let (node, other) = (rng.usize(..world.fleet.count()), rng.usize(..world.fleet.count()));
    let body = json!({"reason": "a trial", "stop_running": rng.bool()});
    let begun = Instant::now();
    until_done(
        world,
        node,
        HttpRequest { method: "PUT", ..HttpRequest::post("/kill-switch", &body) },
    )
    .await?;
    let acknowledged = now();
    world.tally.longest("switch_acknowledged_ms", begun.elapsed());
    if other != node {
        world.tally.count("kills");
        let process = world.fleet.kill(other).await?;
        end_lease(world, process);
        world.fleet.start(other, &world.tally).await?;
    }
    tokio::time::sleep(KILL_SWITCH_TIME).await;
    let released = now();
    until_done(world, node, HttpRequest { method: "DELETE", ..HttpRequest::get("/kill-switch") })
        .await?;
    world.record_kill_switch(acknowledged, released);
    Ok(())
}

async fn until_done(world: &TrialContext, node: usize, ask: HttpRequest<'_>) -> Result<()> {
    let daemon = world.fleet.daemon(node).ok_or("no such daemon")?;
    let mut last = String::new();
    for _ in 0..TRIES {
        match send(&daemon, ask).await {
            Ok(reply) if reply.status == 200 => return Ok(()),
            Ok(reply) => last = reply.json.to_string(),
            Err(error) => last = error.to_string(),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    world.tally.add_finding(Finding::Stuck, &format!("{} of the kill switch: {last}", ask.method));
    Ok(())
}
