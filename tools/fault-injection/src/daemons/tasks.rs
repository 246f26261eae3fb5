//! Tasks of the scheduler: each becomes due once while daemons are killed and paused, and has to
//! have run once at the end.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::findings::Finding;
use super::http_client::{HttpRequest, send};
use super::trial_context::TrialContext;
use crate::error::Result;

/// What a description of a task begins with; the model of its runs asks no person.
pub(super) const PREFIX: &str = "task-";
/// The time over which tasks become due: that of the calls in a hurry.
const SPAN: Duration = Duration::from_secs(12);
/// How long a claim on a task holds (`crates/assistant`, `LEASE_MS`).
const LEASE: Duration = Duration::from_secs(60);
/// Between two looks at what is open.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Tasks with their executions.
const TASKS: &str = "SELECT body::json->>'description', body::json->>'status',
        json_array_length(body::json->'history'), coalesce(body::json->'history'->0->>'ok', '')
    FROM tasks WHERE body::json->>'kind' = 'run'";
/// What is known of a task that is open: its claim, and the key of its run with the worker that
/// holds it.
const OPEN: &str = "SELECT t.body::json->'lease', b.epoch, b.is_done, w.state, w.who
    FROM tasks t
    LEFT JOIN batches b ON b.key LIKE 'run:' || t.id || '-%'
    LEFT JOIN workers w ON w.epoch = b.epoch
    WHERE t.body::json->>'description' = 'NAME'";
/// Runs that schedulers started.
const RUNS: &str = "SELECT count(*) FROM runs WHERE context::json->>'device' = 'scheduler'";

fn number(world: &TrialContext) -> u32 {
    world.plan.runs() * 3
}

/// Makes all tasks, before anything is killed: a request that makes one has no key.
pub(super) async fn add_all(world: &TrialContext) -> Result<()> {
    let begun = jiff::Timestamp::now();
    for task in 0..number(world) {
        let daemon = world.fleet.daemon(task as usize % world.fleet.count());
        let daemon = daemon.ok_or("a daemon was never there")?;
        let at = begun + Duration::from_secs(2) + SPAN * task / number(world);
        let name = format!("{PREFIX}{task}");
        let body = json!({
            "description": name, "prompt": format!("work on {name}"), "execute_at": at.to_string(),
        });
        let reply = send(&daemon, HttpRequest::post("/tasks", &body)).await?;
        if reply.status != 200 {
            return Err(format!("{name} was not made: {} {}", reply.status, reply.json).into());
        }
    }
    Ok(())
}

/// Waits until no task is open, for as long as the claim of a daemon that was killed may hold.
pub(super) async fn wait_all_done(world: &TrialContext) {
    let (begun, patience) = (Instant::now(), LEASE + world.plan.patience());
    while begun.elapsed() < patience {
        let Some(daemon) = world.fleet.daemon(0) else { break };
        let open = send(&daemon, HttpRequest::get("/tasks?open=true")).await.ok();
        let items = open.and_then(|reply| reply.json.get("items").cloned());
        if items.as_ref().and_then(Value::as_array).is_some_and(Vec::is_empty) {
            break;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    world.tally.longest("tasks_settled_after_ms", begun.elapsed());
}

/// Each task ran once, and no scheduler started a second run.
pub(super) fn verify(world: &TrialContext, sql: impl Fn(&str) -> Vec<Vec<String>>) {
    let rows = sql(TASKS);
    let expected = number(world) as usize;
    if rows.len() != expected {
        let words = format!("{} of {expected} tasks are there", rows.len());
        world.tally.add_finding(Finding::Lost, &words);
    }
    for row in &rows {
        world.tally.count("tasks");
        match row.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [_, "COMPLETED", "1", "true"] => {}
            [_, "COMPLETED", _, _] => {
                world.tally.add_finding(Finding::Contradiction, &format!("{row:?}"));
            }
            [name, ..] => {
                let story = sql(&OPEN.replace("NAME", name));
                world.tally.add_finding(Finding::Stuck, &format!("{row:?}: {story:?}"));
            }
            [] => {}
        }
    }
    let runs = sql(RUNS).first().and_then(|row| row.first()?.parse().ok());
    if runs != Some(rows.len()) {
        let words = format!("{} tasks became {runs:?} runs", rows.len());
        world.tally.add_finding(Finding::Doubled, &words);
    }
}
