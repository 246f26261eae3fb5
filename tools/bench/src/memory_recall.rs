//! Cost of memories with ten thousand of them in a database: a recall, and their part of a prompt.

use std::sync::Arc;
use std::time::Instant;

use toolcrib_assistant::memory::{MAX_MEMORIES, Memories};
use toolcrib_core::{Author, Memory, MemoryCategory, MemoryStore as _, MemoryWrite};
use toolcrib_store::SqliteStore;

use crate::results::Results;
use crate::timing::{cpu, median};

/// Recalls, and prompts, of a measurement.
const ROUNDS: usize = 500;
/// Words of the texts, in changing order.
const WORDS: [&str; 24] = [
    "coffee",
    "invoice",
    "garden",
    "release",
    "meeting",
    "password",
    "holiday",
    "server",
    "budget",
    "recipe",
    "doctor",
    "train",
    "deadline",
    "printer",
    "insurance",
    "birthday",
    "backup",
    "contract",
    "router",
    "weather",
    "keyboard",
    "customer",
    "library",
    "airport",
];

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
    let store = SqliteStore::open(&folder.path().join("memories.db")).expect("a store");
    let written = (0..MAX_MEMORIES).map(|n| store.write_memory(new_memory(n)));
    for result in written.collect::<Vec<_>>() {
        result.await.expect("a memory");
    }
    let memories = Memories::new(Arc::new(store), Arc::new(|_| false));
    let begun = cpu();
    memories.recall("", WORDS[0], 5).await.expect("an index");
    let indexed = MAX_MEMORIES as f64 / (cpu() - begun).as_secs_f64();
    table.figure("memory: indexed a second", indexed, "");

    let mut times = Vec::with_capacity(ROUNDS);
    for n in 0..ROUNDS {
        let query = format!("what about the {} and the {}", word(n), word(n / 7));
        let begun = Instant::now();
        let found = memories.recall("", &query, 5).await.expect("a recall");
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
        assert!(!found.is_empty(), "{query}");
    }
    let recall = median(times.into_iter());
    table.at_most("memory: a recall among 10,000, p50", recall, "ms", 5.0);

    memories.for_prompt("").await.expect("a prompt");
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let prompt = memories.for_prompt("").await.expect("a prompt");
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
        assert!(prompt.section(false).is_some());
    }
    let prompt = median(times.into_iter());
    table.at_most("memory: what 10,000 add to a prompt, p50", prompt, "ms", 1.0);
}

fn word(n: usize) -> &'static str {
    WORDS[n % WORDS.len()]
}

fn new_memory(n: usize) -> MemoryWrite {
    let content = format!(
        "The {} of the {} is number {n}; the {} comes after the {}",
        word(n),
        word(n / 3 + 5),
        word(n / 11 + 9),
        word(n / 17 + 2)
    );
    let memory = Memory {
        owner: String::new(),
        key: format!("{}_{n}", word(n)),
        content,
        category: MemoryCategory::General,
        hit_count: 1,
        created_at: 0,
        updated_at: 0,
        author: Author::default(),
        untrusted: None,
        revision: 0,
    };
    MemoryWrite {
        owner: String::new(),
        key: memory.key.clone(),
        expected: None,
        memory: Some(memory),
        author: Author::default(),
        at: 0,
        undoes: None,
    }
}
