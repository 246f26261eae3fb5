//! How words and meaning become one order.
//!
//! 1. Every tool is scored with the whole query, half by coverage (BM25 as a share of what could be reached) and half by cosine. Mixing
//!    absolute values beats fusing ranks: where a query shares few words with any tool, the words stay quiet.
//! 2. Sentences of a query are needs of their own. The best tools of step 1, with each tool's best need in place of the whole, are scored
//!    again need by need; a need whose best tool is weaker than that of another is lifted towards it, or one need would take every place.

use super::dense::QueryVector;
use super::{Hit, Index};
use crate::text::{MOST_NEEDS, cut, needs};

/// Share of the words in a score; meaning has the rest.
const WORDS: f32 = 0.5;
/// Share of the best need in the score of a query of several; the whole query has the rest.
const NEED: f32 = 0.55;
/// How far a weaker need is lifted towards the strongest one (an exponent), and the most it is lifted: a greeting is no need.
const LIFT: f32 = 0.75;
const MOST_LIFT: f32 = 1.6;
/// Tools that are scored need by need. From 50 on nothing changes any more.
const CANDIDATES: usize = 128;
/// Bytes of a query that are read.
const QUERY_BYTES: usize = 4096;

/// Memory of a query.
#[derive(Default)]
pub(super) struct Scratch {
    whole: Vec<f32>,
    needs: Vec<f32>,
    cosines: Vec<f32>,
    order: Vec<(f32, u32)>,
}

fn zeros(memory: &mut Vec<f32>, length: usize) {
    memory.clear();
    memory.resize(length, 0.0);
}

/// A sum as a share of what could be reached.
fn share(sum: f32, best: f32) -> f32 {
    if best > 0.0 { sum / best } else { 0.0 }
}

fn mix(words: f32, cosine: f32) -> f32 {
    WORDS * words + (1.0 - WORDS) * cosine
}

impl Index {
    pub(super) fn rank(
        &self,
        query: &str,
        limit: usize,
        scratch: &mut Scratch,
        may_see: impl Fn(u32) -> bool,
    ) -> Vec<Hit> {
        let query = cut(query, QUERY_BYTES);
        let mut parts = needs(query);
        // One sentence that is the whole query has no second stage.
        if parts.len() == 1 && parts.first().is_some_and(|part| *part == query.trim()) {
            parts.clear();
        }
        debug_assert!(parts.len() <= MOST_NEEDS);
        self.first_stage(query, &parts, scratch, &may_see);
        let named = self.names.in_query(query);
        let keep = CANDIDATES.max(limit);
        self.keep_best(&mut scratch.order, keep);
        for slot in named.iter().copied().filter(|slot| may_see(*slot)) {
            if !scratch.order.iter().any(|(_, s)| *s == slot) {
                scratch.order.push((scratch.whole[slot as usize], slot));
            }
        }
        if !parts.is_empty() {
            self.second_stage(&parts, scratch);
        }
        let is_named = |slot| named.binary_search(&slot).is_ok();
        scratch.order.sort_unstable_by(|a, b| {
            is_named(b.1).cmp(&is_named(a.1)).then_with(|| self.order(*a, *b))
        });
        let best = scratch.order.iter().take(limit);
        best.filter_map(|(score, slot)| {
            let id = self.slots[*slot as usize].as_ref()?.id.clone();
            Some(Hit { id, score: score.clamp(0.0, 1.0), named: is_named(*slot) })
        })
        .collect()
    }

    /// Scores every tool that may be seen. Leaves the whole query's score in `whole` and each need's coverage in `needs`.
    fn first_stage(
        &self,
        query: &str,
        parts: &[&str],
        scratch: &mut Scratch,
        may_see: impl Fn(u32) -> bool,
    ) {
        let slots = self.slots.len();
        let Scratch { whole, needs, cosines, order } = scratch;
        zeros(whole, slots);
        zeros(needs, slots * parts.len());
        zeros(cosines, slots);
        let words = self.lexical.query(query, parts);
        self.lexical.score(&words, whole, needs);
        self.dense.score(&QueryVector::of(&self.model, query), cosines);
        for (whole, cosine) in whole.iter_mut().zip(cosines.iter()) {
            *whole = mix(share(*whole, words.whole), *cosine);
        }
        // The best coverage of any need, in the memory that held the cosines once they are spent.
        order.clear();
        for (need, best) in words.needs.iter().enumerate() {
            for coverage in &mut needs[need * slots..(need + 1) * slots] {
                *coverage = share(*coverage, *best);
            }
        }
        for slot in 0..slots {
            let whole = whole[slot];
            let score = if parts.is_empty() {
                whole
            } else {
                let covered = (0..parts.len()).map(|need| needs[need * slots + slot]);
                let best = mix(covered.fold(0.0, f32::max), cosines[slot]);
                NEED * best + (1.0 - NEED) * whole
            };
            order.push((score, slot as u32));
        }
        order.retain(|(_, slot)| self.slots[*slot as usize].is_some() && may_see(*slot));
    }

    /// Scores what is left need by need.
    fn second_stage(&self, parts: &[&str], scratch: &mut Scratch) {
        let slots = self.slots.len();
        let Scratch { whole, needs, order, cosines } = scratch;
        let vectors: Vec<QueryVector> =
            parts.iter().map(|part| QueryVector::of(&self.model, part)).collect();
        let fits = |need: usize, slot: u32| {
            let covered = needs[need * slots + slot as usize];
            mix(covered, self.dense.cosine(&vectors[need], slot))
        };
        // One row of fits for each need, over the candidates.
        cosines.clear();
        for need in 0..parts.len() {
            cosines.extend(order.iter().map(|(_, slot)| fits(need, *slot)));
        }
        let best_of = |row: &[f32]| row.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let best: Vec<f32> = cosines.chunks_exact(order.len().max(1)).map(best_of).collect();
        let strongest = best_of(&best);
        let lifts: Vec<f32> =
            best.iter().map(|best| (strongest / best).powf(LIFT).min(MOST_LIFT)).collect();
        let count = order.len();
        for (at, (score, slot)) in order.iter_mut().enumerate() {
            let lifted = lifts.iter().enumerate().map(|(n, lift)| cosines[n * count + at] * lift);
            let need = lifted.fold(f32::MIN, f32::max);
            *score = NEED * need + (1.0 - NEED) * whole[*slot as usize];
        }
    }

    /// Leaves the best `keep`, in any order.
    fn keep_best(&self, order: &mut Vec<(f32, u32)>, keep: usize) {
        if order.len() > keep {
            order.select_nth_unstable_by(keep, |a, b| self.order(*a, *b));
            order.truncate(keep);
        }
    }
}
