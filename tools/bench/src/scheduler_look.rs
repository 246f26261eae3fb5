//! Cost of the scheduler's scan with ten thousand tasks in a database.

use std::time::Instant;

use toolcrib_assistant::task::claim_due;
use toolcrib_core::{Task, TaskId, TaskKind, TaskStore, TaskTrigger};
use toolcrib_store::SqliteStore;

use crate::results::Results;
use crate::timing::median;

/// Open tasks: as many as an owner may have.
const TASKS: i64 = 10_000;
/// Looks of a measurement.
const ROUNDS: usize = 1_000;
/// Tasks that are due in the look that claims some.
const DUE: i64 = 64;
/// The present time, in milliseconds: all tasks but those that are due are later.
/// Tasks that a look may claim: all that are due, so that claiming is measured.
const ROOM: usize = 64;
const NOW: i64 = 1_000_000;

pub(crate) fn run(table: &mut Results) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(measure(table));
}

async fn measure(table: &mut Results) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(&folder.path().join("tasks.db")).expect("a store");
    let written = (0..TASKS).map(|n| store.add_task(task(NOW + 1 + n)));
    for result in written.collect::<Vec<_>>() {
        result.await.expect("a task");
    }
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let look = claim_due(&store, NOW, ROOM, |_| true).await.expect("a look");
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
        assert_eq!((look.claimed.len(), look.next_wake), (0, Some(NOW + 1)));
    }
    let look = median(times.into_iter());
    table.at_most("tasks: a look at 10,000 of them, p50", look, "ms", 1.0);

    let begun = Instant::now();
    let look = claim_due(&store, NOW + DUE, ROOM, |_| true).await.expect("a look");
    let each = begun.elapsed().as_secs_f64() * 1000.0 / DUE as f64;
    assert_eq!(look.claimed.len() as i64, DUE);
    table.figure("tasks: claiming one of 64 that are due, on disk", each, "ms");
}

fn task(due_at: i64) -> Task {
    let trigger = TaskTrigger::Cron { cron: "0 9 * * MON-FRI".to_owned() };
    Task {
        description: "look after it".to_owned(),
        prompt: "Look whether something is new, and say what changed since the last time."
            .to_owned(),
        zone: "Europe/Berlin".to_owned(),
        due_at: Some(due_at),
        ..Task::new(TaskId::fresh(), String::new(), TaskKind::Run, trigger, 0)
    }
}
