//! How words and meaning become one order.
//!
//! 1. A look at every tool: half coverage (BM25 as a share of what could be reached), half an estimate of the cosine; a query of several
//!    needs lets a tool count with its best one. Some hundred tools stay.
//! 2. Those are scored exactly, with the whole query and with each need. Mixing absolute values beats fusing ranks: where a query shares few
//!    words with any tool, the words stay quiet. A need whose best tool is weaker than that of another is lifted towards it, or one need
//!    would take every place.

use super::dense::QueryVector;
use super::lexical::{Query, Said};
use super::{Hit, Index};
use crate::text::{Parts, cut};

/// Share of the words in a score; meaning has the rest.
const WORDS: f32 = 0.5;
/// How much a tool gains whose whole name is said, as a share of its words.
const NAME_SAID: f32 = 0.25;
/// Share of the best need in the score of a query of several; the whole query has the rest.
const NEED: f32 = 0.55;
/// How far a weaker need is lifted towards the strongest one (an exponent), and the most it is lifted: a greeting is no need.
const LIFT: f32 = 0.75;
const MOST_LIFT: f32 = 1.6;
/// Tools that are scored exactly: enough for ten thousand, see the first look of `dense`.
const CANDIDATES: usize = 192;
/// Bytes of a query that are read.
const QUERY_BYTES: usize = 4096;

/// Memory of a query.
#[derive(Default)]
pub(super) struct Scratch {
    /// By slot: the gain of words of the whole query.
    whole: Vec<f32>,
    /// The same for each need, one stretch of slots after the other.
    needs: Vec<f32>,
    /// By slot: the best coverage by one need.
    best: Vec<f32>,
    /// By slot: the estimate of the cosine.
    cosines: Vec<f32>,
    /// What is left, with its score.
    order: Vec<(f32, u32)>,
}

fn zeros(memory: &mut Vec<f32>, length: usize) {
    memory.clear();
    memory.resize(length, 0.0);
}

/// What a sum has to be multiplied with to be a share of the best that could be reached.
fn per(best: f32) -> f32 {
    if best > 0.0 { best.recip() } else { 0.0 }
}

fn mix(words: f32, cosine: f32) -> f32 {
    WORDS * words + (1.0 - WORDS) * cosine
}

/// A query, understood.
struct Asked {
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
        let query = cut(query, QUERY_BYTES);
        let asked = self.understand(&Parts::of(query));
        let may_see =
            |slot: u32| self.slots[slot as usize].as_ref().is_some_and(|slot| may_see(&slot.id));
        self.look(&asked, CANDIDATES.max(limit), scratch, may_see);
        let named = self.names.in_query(query);
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

    fn understand(&self, parts: &Parts<'_>) -> Asked {
        let mut whole = vec![0.0; self.model.dimensions()];
        let mut needs = Vec::with_capacity(parts.needs);
        for (part, need) in &parts.parts {
            let sum = self.model.sum(part);
            whole.iter_mut().zip(&sum).for_each(|(whole, x)| *whole += x);
            if need.is_some() {
                needs.push(QueryVector::of(sum));
            }
        }
        Asked { words: self.lexical.query(parts), whole: QueryVector::of(whole), needs }
    }

    /// The first stage: leaves the best `keep` of the tools that may be seen in `order`, and the gain of words in `whole` and `needs`.
    fn look(
        &self,
        asked: &Asked,
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
        self.dense.look(&asked.whole, cosines);
        for (gains, most) in needs.chunks_exact(slots).zip(&asked.words.needs) {
            let per = per(*most);
            best.iter_mut().zip(gains).for_each(|(best, gain)| *best = best.max(gain * per));
        }
        let (per, share) =
            (per(asked.words.whole), if asked.needs.is_empty() { 0.0 } else { NEED });
        for ((best, gain), cosine) in best.iter_mut().zip(&*whole).zip(&*cosines) {
            *best = mix(share * *best + (1.0 - share) * gain * per, *cosine);
        }
        // Every `keep` tools the worse half goes, and what is worse than the rest is not looked at again.
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

    /// Leaves the best `keep` in any order, and returns the least of their scores.
    fn keep_best(&self, order: &mut Vec<(f32, u32)>, keep: usize) -> f32 {
        if order.len() <= keep {
            return f32::MIN;
        }
        let (_, least, _) = order.select_nth_unstable_by(keep - 1, |a, b| self.order(*a, *b));
        let least = least.0;
        order.truncate(keep);
        least
    }

    /// The second stage: exact scores of what is left.
    fn score(&self, asked: &Asked, scratch: &mut Scratch) {
        let slots = self.slots.len();
        let Scratch { whole, needs, best: fits, order, .. } = scratch;
        let said: Vec<Said> =
            order.iter().map(|(_, slot)| self.lexical.said(&asked.words, *slot)).collect();
        let per_whole = per(asked.words.whole);
        for ((score, slot), said) in order.iter_mut().zip(&said) {
            let covered = whole[*slot as usize] * per_whole * (1.0 + NAME_SAID * said.whole);
            *score = mix(covered, self.dense.cosine(&asked.whole, *slot));
        }
        if asked.needs.is_empty() {
            return;
        }
        // A row of fits for each need, over what is left; then each row lifted towards the strongest.
        fits.clear();
        for (need, vector) in asked.needs.iter().enumerate() {
            let per = per(asked.words.needs[need]);
            fits.extend(order.iter().zip(&said).map(|((_, slot), said)| {
                let gain = needs[need * slots + *slot as usize];
                let covered = gain * per * (1.0 + NAME_SAID * said.needs[need]);
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
