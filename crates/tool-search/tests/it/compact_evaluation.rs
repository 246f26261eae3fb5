//! Regression test: ranking quality on the compact evaluation set.

use toolcrib_tool_search::Model;
use toolcrib_tool_search::evaluation::{evaluate, read};

const DATA: &[u8] = include_bytes!("../../eval/compact.jsonl");

/// The thresholds are slightly below the measured values, because rounding differs between
/// machines.
#[test]
fn the_ranking_is_as_good_as_it_was() {
    let data = read(DATA, "dev").unwrap();
    let measured = evaluate(&Model::builtin().unwrap(), &data);
    assert_eq!(measured.sources.len(), 5);
    assert_eq!(measured.rankings.len(), 200);
    let reached = measured.macro_average;
    assert!(reached.ndcg5 > 0.84, "{reached:?}");
    assert!(reached.recall[1] > 0.88, "{reached:?}");
    for (source, figures) in &measured.sources {
        assert!(figures.ndcg5 > 0.58, "{source}: {figures:?}");
    }
}

#[test]
fn another_split_is_empty() {
    let data = read(DATA, "train").unwrap();
    assert!(data.values().all(|collection| collection.queries.is_empty()));
}
