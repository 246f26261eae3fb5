//! The compact evaluation set: the figures that a change of the ranking must not lose.

use toolcrib_discover::Model;
use toolcrib_discover::eval::{measure, read};

const DATA: &[u8] = include_bytes!("../../eval/compact.jsonl");

/// A little below what is reached, for rounding on other machines.
#[test]
fn the_ranking_is_as_good_as_it_was() {
    let data = read(DATA, "dev").unwrap();
    let measured = measure(&Model::builtin().unwrap(), &data);
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
