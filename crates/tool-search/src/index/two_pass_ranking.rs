//! Ranking: combines word and embedding scores.
//!
//! 1. The first pass covers every tool: half coverage (BM25 as a share of its maximum), half an
//!    estimate of the cosine. For a query with several needs, a tool's best need counts. About two
//!    hundred tools remain.
//! 2. The second pass computes exact scores of those, for the whole query and for each need.
//!    Combining absolute scores is better than fusing ranks: if a query shares few words with any
//!    tool, the word scores stay low. A need whose best tool scores lower than that of another need
//!    is lifted towards it, because one need would otherwise fill the whole result.

use super::bm25::{NameCoverage, Query};
use super::embeddings::QueryVector;
use super::{Hit, Index};
use crate::text::{QueryParts, truncate};

/// Share of the words in a score; embeddings contribute the rest.
const WORDS: f32 = 0.5;
/// Bonus for a tool whose complete name is in the query, as a share of its word score.
const NAME_COVERAGE_WEIGHT: f32 = 0.25;
/// Share of the best need in the score of a query with several needs; the whole query contributes
/// the rest.
const NEED: f32 = 0.55;
/// Exponent and maximum of the lift of a weaker need towards the strongest one. The maximum exists
/// because a greeting is not a need.
const LIFT: f32 = 0.75;
const MOST_LIFT: f32 = 1.6;
/// Number of tools scored exactly: sufficient for ten thousand tools, see `HEAD_DIMENSIONS` in
/// [`super::embeddings`].
const CANDIDATES: usize = 192;
/// Maximum bytes of a query.
const QUERY_BYTES: usize = 4096;

/// Reusable buffers of a query.
#[derive(Default)]
pub(super) struct Scratch {
    /// By slot: word score of the whole query.
    whole: Vec<f32>,
    /// Word scores of each need, one run of slots per need.
    needs: Vec<f32>,
    /// By slot: the best coverage by one need.
    best: Vec<f32>,
    /// By slot: the estimated cosine.
    cosines: Vec<f32>,
    /// The remaining slots with their scores.
    order: Vec<(f32, u32)>,
}

fn zeros(memory: &mut Vec<f32>, length: usize) {
    memory.clear();
    memory.resize(length, 0.0);
}

/// Returns the factor that converts a sum to a share of its maximum.
fn per(best: f32) -> f32 {
    if best > 0.0 { best.recip() } else { 0.0 }
}

fn mix(words: f32, cosine: f32) -> f32 {
    WORDS * words + (1.0 - WORDS) * cosine
}

/// A parsed query.
struct ParsedQuery {
    words: Query,
    whole: QueryVector,
    needs: Vec<QueryVector>,
}

impl Index {
    pub(super) fn rank(
        &self,
        query: &str,
        limit: usize,
        scratch: &mut Scratch,
        may_see: impl Fn(&str) -> bool,
    ) -> Vec<Hit> {
        let query = truncate(query, QUERY_BYTES);
        let asked = self.parse_query(&QueryParts::split(query));
        let may_see =
            |slot: u32| self.slots[slot as usize].as_ref().is_some_and(|slot| may_see(&slot.id));
        self.estimate_scores(&asked, CANDIDATES.max(limit), scratch, may_see);
        let named = self.names.match_query(query);
        for slot in named.iter().copied().filter(|slot| may_see(*slot)) {
            if !scratch.order.iter().any(|(_, other)| *other == slot) {
                scratch.order.push((0.0, slot));
            }
        }
        self.score(&asked, scratch);
        let is_named = |slot| named.binary_search(&slot).is_ok();
        let order = |a: &(f32, u32), b: &(f32, u32)| {
            is_named(b.1).cmp(&is_named(a.1)).then_with(|| self.order(*a, *b))
        };
        let best = &mut scratch.order;
        if best.len() > limit {
            best.select_nth_unstable_by(limit, order);
            best.truncate(limit);
        }
        best.sort_unstable_by(order);
        best.iter()
            .filter_map(|(score, slot)| {
                let id = self.slots[*slot as usize].as_ref()?.id.clone();
                Some(Hit { id, score: score.clamp(0.0, 1.0), named: is_named(*slot) })
            })
            .collect()
    }

    fn parse_query(&self, parts: &QueryParts<'_>) -> ParsedQuery {
        let mut whole = vec![0.0; self.model.dimensions()];
        let mut needs = Vec::with_capacity(parts.needs);
        for (part, need) in &parts.parts {
            let sum = self.model.sum(part);
            whole.iter_mut().zip(&sum).for_each(|(whole, x)| *whole += x);
            if need.is_some() {
                needs.push(QueryVector::quantize(sum));
            }
        }
        ParsedQuery { words: self.lexical.query(parts), whole: QueryVector::quantize(whole), needs }
    }

    /// First pass: stores the best `keep` visible tools in `order`, and word scores in `whole` and
    /// `needs`.
    fn estimate_scores(
        &self,
        asked: &ParsedQuery,
        keep: usize,
        scratch: &mut Scratch,
        may_see: impl Fn(u32) -> bool,
    ) {
        let slots = self.slots.len();
        let Scratch { whole, needs, best, cosines, order } = scratch;
        zeros(whole, slots);
        zeros(needs, slots * asked.needs.len());
        zeros(best, slots);
        zeros(cosines, slots);
        order.clear();
        self.lexical.score(&asked.words, whole, needs);
        self.dense.estimate_cosines(&asked.whole, cosines);
        for (gains, most) in needs.chunks_exact(slots).zip(&asked.words.needs) {
            let per = per(*most);
            best.iter_mut().zip(gains).for_each(|(best, gain)| *best = best.max(gain * per));
        }
        let (per, share) =
            (per(asked.words.whole), if asked.needs.is_empty() { 0.0 } else { NEED });
        for ((best, gain), cosine) in best.iter_mut().zip(&*whole).zip(&*cosines) {
            *best = mix(share * *best + (1.0 - share) * gain * per, *cosine);
        }
        // After every `keep` tools the worse half is dropped, and later tools below the minimum are
        // skipped.
        let mut least = f32::MIN;
        for (slot, score) in (0u32..).zip(best.iter()) {
            if *score >= least && may_see(slot) {
                order.push((*score, slot));
                if order.len() == 2 * keep {
                    least = self.keep_best(order, keep);
                }
            }
        }
        self.keep_best(order, keep);
    }

    /// Keeps the best `keep` in any order, and returns the lowest of their scores.
    fn keep_best(&self, order: &mut Vec<(f32, u32)>, keep: usize) -> f32 {
        if order.len() <= keep {
            return f32::MIN;
        }
        let (_, least, _) = order.select_nth_unstable_by(keep - 1, |a, b| self.order(*a, *b));
        let least = least.0;
        order.truncate(keep);
        least
    }

    /// Second pass: computes exact scores of the remaining tools.
    fn score(&self, asked: &ParsedQuery, scratch: &mut Scratch) {
        let slots = self.slots.len();
        let Scratch { whole, needs, best: fits, order, .. } = scratch;
        let said: Vec<NameCoverage> =
            order.iter().map(|(_, slot)| self.lexical.name_coverage(&asked.words, *slot)).collect();
        let per_whole = per(asked.words.whole);
        for ((score, slot), said) in order.iter_mut().zip(&said) {
            let covered =
                whole[*slot as usize] * per_whole * (1.0 + NAME_COVERAGE_WEIGHT * said.whole);
            *score = mix(covered, self.dense.cosine(&asked.whole, *slot));
        }
        if asked.needs.is_empty() {
            return;
        }
        // One row of scores for each need over the remaining tools; then each row is lifted towards
        // the strongest.
        fits.clear();
        for (need, vector) in asked.needs.iter().enumerate() {
            let per = per(asked.words.needs[need]);
            fits.extend(order.iter().zip(&said).map(|((_, slot), said)| {
                let gain = needs[need * slots + *slot as usize];
                let covered = gain * per * (1.0 + NAME_COVERAGE_WEIGHT * said.needs[need]);
                mix(covered, self.dense.cosine(vector, *slot))
            }));
        }
        let count = order.len().max(1);
        let most = |row: &[f32]| row.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let strongest = most(fits);
        let lifts = fits.chunks_exact(count).map(|row| (strongest / most(row)).powf(LIFT));
        let lifts: Vec<f32> = lifts.map(|lift| lift.min(MOST_LIFT)).collect();
        for (at, (score, _)) in order.iter_mut().enumerate() {
            let lifted = lifts.iter().enumerate().map(|(n, lift)| fits[n * count + at] * lift);
            *score = NEED * lifted.fold(f32::MIN, f32::max) + (1.0 - NEED) * *score;
        }
    }
}
