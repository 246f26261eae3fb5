//! Speed measurement: loading the model, indexing ten thousand tools and searching them.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolcrib_tool_search::{Index, Model, ToolProfile};

/// Number of tools in the measured index.
const TOOLS: usize = 10_000;
/// Rounds over the queries. The best round counts, because other processes only add time.
const ROUNDS: usize = 20;
/// Queries per round.
const QUERIES: usize = 500;

/// Measures and prints the times.
pub(crate) fn print(model: &Arc<Model>, tools: &[(String, ToolProfile)], queries: &[String]) {
    if tools.is_empty() || queries.is_empty() {
        println!("\nno tools or no queries: nothing to time");
        return;
    }
    println!("\nmodel loaded in {:.1} ms", ms(model_load()));
    let many = || tools.iter().cycle().take(TOOLS).enumerate();
    let started = Instant::now();
    let mut index = Index::new(Arc::clone(model));
    for (i, (id, profile)) in many() {
        index.put(&format!("{i}:{id}"), profile);
    }
    println!("{TOOLS} tools indexed in {:.0} ms", ms(started.elapsed()));
    let step = (queries.len() / QUERIES).max(1);
    let asked: Vec<&String> = queries.iter().step_by(step).take(QUERIES).collect();
    let mut times: Vec<Duration> = vec![Duration::MAX; asked.len()];
    for _ in 0..ROUNDS {
        for (query, fastest) in asked.iter().zip(&mut times) {
            let started = Instant::now();
            black_box(index.find(query, 5));
            *fastest = (*fastest).min(started.elapsed());
        }
    }
    times.sort_unstable();
    let mean = times.iter().sum::<Duration>() / times.len() as u32;
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "a query over them: mean {:.3} ms, median {:.3} ms, 95 % {:.3} ms, slowest {:.3} ms",
        ms(mean),
        ms(at(0.5)),
        ms(at(0.95)),
        ms(at(1.0))
    );
    let (id, profile) = &tools[0];
    let replaced = best(100, || index.put(&format!("0:{id}"), profile));
    println!("one tool replaced in {:.3} ms", ms(replaced));
}

/// Time to load the model, without freeing its memory.
fn model_load() -> Duration {
    let timed = (0..ROUNDS).map(|_| {
        let started = Instant::now();
        let model = Model::load_builtin();
        let time = started.elapsed();
        drop(black_box(model));
        time
    });
    timed.min().unwrap_or_default()
}

fn best(rounds: usize, mut work: impl FnMut()) -> Duration {
    let timed = (0..rounds).map(|_| {
        let started = Instant::now();
        work();
        started.elapsed()
    });
    timed.min().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
