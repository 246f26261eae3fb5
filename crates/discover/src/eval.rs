//! How good a ranking is: recall at 1, 5 and 10 and nDCG at 5, over labelled queries.
//!
//! The data has the rows of [`crate::find_lines`], plus `source` and, for a query, `split` and `relevant`. The candidates of a query are the
//! tools of its own source.

use std::collections::{BTreeMap, HashSet};
use std::io::BufRead;
use std::sync::Arc;

use serde::Deserialize;

use crate::index::Index;
use crate::lines::{LinesError, each_line};
use crate::model::Model;
use crate::profile::Profile;

/// Results of a query that are looked at.
const DEPTH: usize = 10;

/// A labelled query.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Labelled {
    /// Its id.
    pub id: String,
    /// The need.
    pub query: String,
    /// `paraphrase` is counted apart from the rest of its source.
    #[serde(default)]
    pub kind: String,
    /// The part of the data that it belongs to.
    #[serde(default)]
    pub split: String,
    /// Ids of the tools that answer it.
    pub relevant: Vec<String>,
}

/// The tools and the queries of one source.
#[derive(Debug, Default)]
pub struct Collection {
    /// The tools with their ids.
    pub tools: Vec<(String, Profile)>,
    /// The queries of the split that was asked for.
    pub queries: Vec<Labelled>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Row {
    Tool {
        #[serde(default)]
        source: String,
        id: String,
        #[serde(flatten)]
        profile: Profile,
    },
    Query {
        #[serde(default)]
        source: String,
        #[serde(flatten)]
        query: Labelled,
    },
}

/// Reads labelled data; of the queries those of one split.
///
/// # Errors
/// [`LinesError`], at the first row that is neither a tool nor a query.
pub fn read(data: impl BufRead, split: &str) -> Result<BTreeMap<String, Collection>, LinesError> {
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

/// Means over queries.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// Queries.
    pub queries: usize,
    /// Normalised discounted cumulative gain of the first five.
    pub ndcg5: f64,
    /// Share of the relevant tools among the first, the first five and the first ten.
    pub recall: [f64; 3],
    /// Mean of 1 / place of the first relevant tool, 0 beyond the tenth.
    pub mrr: f64,
}

impl Figures {
    /// Of one ranking.
    #[must_use]
    pub fn of(ranked: &[Arc<str>], relevant: &[String]) -> Self {
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

    /// The mean of several, each counting the same.
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

/// What a collection came to.
#[derive(Debug, Default)]
pub struct Measured {
    /// Figures by source; paraphrases apart, as `source/paraphrase`.
    pub sources: BTreeMap<String, Figures>,
    /// The mean over the sources.
    pub macro_average: Figures,
    /// The first ten of every query, by its id.
    pub rankings: Vec<(String, Vec<Arc<str>>)>,
}

/// Ranks every query among the tools of its source.
#[must_use]
pub fn measure(model: &Arc<Model>, data: &BTreeMap<String, Collection>) -> Measured {
    let mut all: BTreeMap<String, Vec<Figures>> = BTreeMap::new();
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
            let figures = Figures::of(&ranked, &query.relevant);
            all.entry(format!("{source}{apart}")).or_default().push(figures);
            rankings.push((query.id.clone(), ranked));
        }
    }
    let sources: BTreeMap<String, Figures> =
        all.iter().map(|(source, figures)| (source.clone(), Figures::mean(figures))).collect();
    let each: Vec<Figures> = sources.values().copied().collect();
    Measured { macro_average: Figures::mean(&each), sources, rankings }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranked: &[&str], relevant: &[&str]) -> Figures {
        let ranked: Vec<Arc<str>> = ranked.iter().map(|id| (*id).into()).collect();
        let relevant: Vec<String> = relevant.iter().map(|id| (*id).to_owned()).collect();
        Figures::of(&ranked, &relevant)
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
        assert_eq!(of(&[], &["a"]), Figures { queries: 1, ..Figures::default() });
    }

    #[test]
    fn the_macro_average_counts_sources_alike() {
        let mean = Figures::mean(&[of(&["a"], &["a"]), of(&["b"], &["a"])]);
        assert_eq!((mean.queries, mean.ndcg5, mean.mrr), (2, 0.5, 0.5));
        assert_eq!(Figures::mean(&[]), Figures::default());
    }
}
