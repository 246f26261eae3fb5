//! Meaning to tools: a quantised vector per tool, all in one block of memory.

use crate::model::{Model, normalise};
use crate::profile::Profile;
use crate::quantise;

use super::field;

/// Dimensions of the first look. A scan of ten thousand whole vectors takes longer than a query may. The model of the binary is turned onto its
/// principal axes, so that a quarter of a vector tells two thirds (`model/rotate.py`); among eleven thousand tools that costs 0.1 points of
/// nDCG, among four thousand nothing. A model that is not turned so loses 0.2.
const FIRST_LOOK: usize = 64;
/// How much of a cosine the first look sees less than there is: what it sees is the start of a sum whose rest tends the same way.
const FIRST_LOOK_GAIN: f32 = 1.2;

/// The vectors of all tools, by slot.
pub(super) struct Dense {
    dimensions: usize,
    rows: Vec<i8>,
    /// The first cells of every row again, close together.
    heads: Vec<i8>,
    /// What the integers of a row have to be multiplied with; 0 for an empty slot.
    scales: Vec<f32>,
}

/// The vector of a query or of one of its needs.
pub(super) struct QueryVector {
    wide: Vec<i16>,
    scale: f32,
}

impl QueryVector {
    /// Of a sum of weighted tokens, which need not be a unit vector.
    pub(super) fn of(mut vector: Vec<f32>) -> Self {
        normalise(&mut vector);
        let mut wide = Vec::with_capacity(vector.len());
        let scale = quantise::row(&vector, |q| wide.push(i16::from(q)));
        Self { wide, scale }
    }
}

impl Dense {
    /// Without tools.
    pub(super) fn new(dimensions: usize) -> Self {
        Self { dimensions, rows: Vec::new(), heads: Vec::new(), scales: Vec::new() }
    }

    /// Cells of a row that the first look sees.
    fn head(&self) -> usize {
        self.dimensions.min(FIRST_LOOK)
    }

    /// Puts the vector of a profile into a slot.
    pub(super) fn add(&mut self, slot: u32, profile: &Profile, model: &Model) {
        let slot = slot as usize;
        if self.scales.len() <= slot {
            self.scales.resize(slot + 1, 0.0);
            self.rows.resize((slot + 1) * self.dimensions, 0);
            self.heads.resize((slot + 1) * self.head(), 0);
        }
        let vector = vector(profile, model);
        let row = &mut self.rows[slot * self.dimensions..(slot + 1) * self.dimensions];
        let mut cells = row.iter_mut();
        self.scales[slot] = quantise::row(&vector, |q| {
            if let Some(cell) = cells.next() {
                *cell = q;
            }
        });
        let head = self.head();
        let from = slot * self.dimensions;
        self.heads[slot * head..(slot + 1) * head].copy_from_slice(&self.rows[from..from + head]);
    }

    /// Empties a slot.
    pub(super) fn remove(&mut self, slot: u32) {
        if let Some(scale) = self.scales.get_mut(slot as usize) {
            *scale = 0.0;
        }
    }

    /// Writes what the first look takes for the cosine of every slot with the query.
    pub(super) fn look(&self, query: &QueryVector, cosines: &mut [f32]) {
        let head = self.head();
        let gain = if head < self.dimensions { FIRST_LOOK_GAIN } else { 1.0 } * query.scale;
        let wide = query.wide.get(..head).unwrap_or_default();
        let rows = self.heads.chunks_exact(head.max(1)).zip(&self.scales);
        for (cosine, (row, scale)) in cosines.iter_mut().zip(rows) {
            *cosine = quantise::dot(row, wide) as f32 * (scale * gain);
        }
    }

    /// The cosine of one slot with the query.
    pub(super) fn cosine(&self, query: &QueryVector, slot: u32) -> f32 {
        let slot = slot as usize;
        let row = &self.rows[slot * self.dimensions..(slot + 1) * self.dimensions];
        quantise::dot(row, &query.wide) as f32 * (self.scales[slot] * query.scale)
    }
}

/// The unit vector of a tool: its views, each of length 1, in their shares.
fn vector(profile: &Profile, model: &Model) -> Vec<f32> {
    let mut sum = vec![0.0; model.dimensions()];
    for (text, share) in field::views(profile) {
        for (sum, x) in sum.iter_mut().zip(model.embed(&text)) {
            *sum += share * x;
        }
    }
    normalise(&mut sum);
    sum
}
