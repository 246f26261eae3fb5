//! Ranking quality over labeled queries: recall at 1, 5 and 10, and nDCG at 5.
//!
//! The data has the rows of [`crate::search_jsonl`], plus `source` and, for a query, `split` and
//! `relevant`. The candidates of a query are the tools of its source.

use std::collections::{BTreeMap, HashSet};
use std::io::BufRead;
use std::sync::Arc;

use serde::Deserialize;

use crate::index::Index;
use crate::jsonl::{JsonlError, each_line};
use crate::model::Model;
use crate::tool_profile::ToolProfile;

/// Number of evaluated results per query.
const DEPTH: usize = 10;

/// A labeled query.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct LabelledQuery {
    /// Its id.
    pub id: String,
    /// The user's need.
    pub query: String,
    /// Kind; results of kind `paraphrase` are reported separately from the rest of their source.
    #[serde(default)]
    pub kind: String,
    /// The data split to which it belongs.
    #[serde(default)]
    pub split: String,
    /// Ids of the relevant tools.
    pub relevant: Vec<String>,
}

/// The tools and queries of one source.
#[derive(Debug, Default)]
pub struct Collection {
    /// The tools with their ids.
    pub tools: Vec<(String, ToolProfile)>,
    /// The queries of the selected split.
    pub queries: Vec<LabelledQuery>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Row {
    Tool {
        #[serde(default)]
        source: String,
        id: String,
        #[serde(flatten)]
        profile: ToolProfile,
    },
    Query {
        #[serde(default)]
        source: String,
        #[serde(flatten)]
        query: LabelledQuery,
    },
}

/// Reads labeled data, with the queries of one split.
///
/// # Errors
/// [`JsonlError`] at the first row that is neither a tool nor a query.
pub fn read(data: impl BufRead, split: &str) -> Result<BTreeMap<String, Collection>, JsonlError> {
    let mut read: BTreeMap<String, Collection> = BTreeMap::new();
    each_line("data", data, |row, _| {
        match row {
            Row::Tool { source, id, profile } => {
                read.entry(source).or_default().tools.push((id, profile));
            }
            Row::Query { source, query } if query.split == split => {
                read.entry(source).or_default().queries.push(query);
            }
            Row::Query { .. } => {}
        }
        Ok(())
    })?;
    Ok(read)
}

/// Metrics, averaged over queries.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RankingMetrics {
    /// Number of queries.
    pub queries: usize,
    /// Normalized discounted cumulative gain of the first five.
    pub ndcg5: f64,
    /// Share of the relevant tools among the first 1, 5 and 10 results.
    pub recall: [f64; 3],
    /// Mean reciprocal rank of the first relevant tool; 0 beyond the tenth.
    pub mrr: f64,
}

impl RankingMetrics {
    /// Metrics of one ranking.
    #[must_use]
    pub fn from_ranking(ranked: &[Arc<str>], relevant: &[String]) -> Self {
        let relevant: HashSet<&str> = relevant.iter().map(String::as_str).collect();
        let hits: Vec<bool> =
            ranked.iter().take(DEPTH).map(|id| relevant.contains(&**id)).collect();
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let reached: f64 =
            hits.iter().take(5).enumerate().filter(|(_, hit)| **hit).map(|(i, _)| gain(i)).sum();
        let possible: f64 = (0..relevant.len().min(5)).map(gain).sum();
        let within = |depth| hits.iter().take(depth).filter(|hit| **hit).count() as f64;
        let count = relevant.len().max(1) as f64;
        Self {
            queries: 1,
            ndcg5: if possible > 0.0 { reached / possible } else { 0.0 },
            recall: [1, 5, 10].map(|depth| within(depth) / count),
            mrr: hits.iter().position(|hit| *hit).map_or(0.0, |place| 1.0 / (place as f64 + 1.0)),
        }
    }

    /// Returns the unweighted mean of several metrics.
    #[must_use]
    pub fn mean(all: &[Self]) -> Self {
        let count = all.len().max(1) as f64;
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / count;
        Self {
            queries: all.iter().map(|f| f.queries).sum(),
            ndcg5: mean(|f| f.ndcg5),
            recall: [mean(|f| f.recall[0]), mean(|f| f.recall[1]), mean(|f| f.recall[2])],
            mrr: mean(|f| f.mrr),
        }
    }
}

/// The result of an evaluation.
#[derive(Debug, Default)]
pub struct Evaluation {
    /// Metrics by source; paraphrases as `source/paraphrase`.
    pub sources: BTreeMap<String, RankingMetrics>,
    /// The unweighted mean over the sources.
    pub macro_average: RankingMetrics,
    /// The first ten results of every query, by query id.
    pub rankings: Vec<(String, Vec<Arc<str>>)>,
}

/// Ranks every query among the tools of its source.
#[must_use]
pub fn evaluate(model: &Arc<Model>, data: &BTreeMap<String, Collection>) -> Evaluation {
    let mut all: BTreeMap<String, Vec<RankingMetrics>> = BTreeMap::new();
    let mut rankings = Vec::new();
    for (source, collection) in data {
        let mut index = Index::new(Arc::clone(model));
        for (id, profile) in &collection.tools {
            index.put(id, profile);
        }
        for query in &collection.queries {
            let ranked: Vec<Arc<str>> =
                index.find(&query.query, DEPTH).into_iter().map(|hit| hit.id).collect();
            let apart = if query.kind == "paraphrase" { "/paraphrase" } else { "" };
            let figures = RankingMetrics::from_ranking(&ranked, &query.relevant);
            all.entry(format!("{source}{apart}")).or_default().push(figures);
            rankings.push((query.id.clone(), ranked));
        }
    }
    let sources: BTreeMap<String, RankingMetrics> = all
        .iter()
        .map(|(source, figures)| (source.clone(), RankingMetrics::mean(figures)))
        .collect();
    let each: Vec<RankingMetrics> = sources.values().copied().collect();
    Evaluation { macro_average: RankingMetrics::mean(&each), sources, rankings }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranked: &[&str], relevant: &[&str]) -> RankingMetrics {
        let ranked: Vec<Arc<str>> = ranked.iter().map(|id| (*id).into()).collect();
        let relevant: Vec<String> = relevant.iter().map(|id| (*id).to_owned()).collect();
        RankingMetrics::from_ranking(&ranked, &relevant)
    }

    #[test]
    fn figures_are_the_known_ones() {
        let best = of(&["a", "b"], &["b", "a"]);
        assert_eq!((best.ndcg5, best.recall, best.mrr), (1.0, [0.5, 1.0, 1.0], 1.0));
        let second = of(&["x", "a"], &["a"]);
        assert!((second.ndcg5 - 0.630_929_753).abs() < 1e-6);
        assert_eq!((second.recall, second.mrr), ([0.0, 1.0, 1.0], 0.5));
        let sixth = of(&["1", "2", "3", "4", "5", "a"], &["a"]);
        assert_eq!((sixth.ndcg5, sixth.recall), (0.0, [0.0, 0.0, 1.0]));
        assert_eq!(of(&[], &["a"]), RankingMetrics { queries: 1, ..RankingMetrics::default() });
    }

    #[test]
    fn the_macro_average_counts_sources_alike() {
        let mean = RankingMetrics::mean(&[of(&["a"], &["a"]), of(&["b"], &["a"])]);
        assert_eq!((mean.queries, mean.ndcg5, mean.mrr), (2, 0.5, 0.5));
        assert_eq!(RankingMetrics::mean(&[]), RankingMetrics::default());
    }
}
