//! Embedding index: one quantized vector per tool in a contiguous block of memory.

use crate::model::{Model, normalise};
use crate::quantize;
use crate::tool_profile::ToolProfile;

use super::profile_fields;

/// Dimensions of the first pass. Scanning ten thousand full vectors takes longer than a query may.
/// The built-in model is rotated onto its principal axes, so that a quarter of a vector holds two
/// thirds of the information (`model/rotate.py`). Among eleven thousand tools this costs 0.1 points
/// of nDCG, among four thousand nothing; a model without the rotation loses 0.2.
const HEAD_DIMENSIONS: usize = 64;
/// Correction factor of the first pass: it sees the beginning of a sum, and the rest tends in the
/// same direction.
const HEAD_GAIN: f32 = 1.2;

/// The vectors of all tools, by slot.
pub(super) struct EmbeddingIndex {
    dimensions: usize,
    rows: Vec<i8>,
    /// The first cells of every row, copied together for locality.
    heads: Vec<i8>,
    /// Scale factor of each row; 0 for an empty slot.
    scales: Vec<f32>,
}

/// The vector of a query or of one of its needs.
pub(super) struct QueryVector {
    wide: Vec<i16>,
    scale: f32,
}

impl QueryVector {
    /// Quantizes a sum of weighted tokens, which need not be a unit vector.
    pub(super) fn quantize(mut vector: Vec<f32>) -> Self {
        normalise(&mut vector);
        let mut wide = Vec::with_capacity(vector.len());
        let scale = quantize::row(&vector, |q| wide.push(i16::from(q)));
        Self { wide, scale }
    }
}

impl EmbeddingIndex {
    /// Creates an empty index.
    pub(super) fn new(dimensions: usize) -> Self {
        Self { dimensions, rows: Vec::new(), heads: Vec::new(), scales: Vec::new() }
    }

    /// Returns the number of cells that the first pass uses.
    fn head(&self) -> usize {
        self.dimensions.min(HEAD_DIMENSIONS)
    }

    /// Stores the vector of a profile in a slot.
    pub(super) fn add(&mut self, slot: u32, profile: &ToolProfile, model: &Model) {
        let slot = slot as usize;
        if self.scales.len() <= slot {
            self.scales.resize(slot + 1, 0.0);
            self.rows.resize((slot + 1) * self.dimensions, 0);
            self.heads.resize((slot + 1) * self.head(), 0);
        }
        let vector = vector(profile, model);
        let row = &mut self.rows[slot * self.dimensions..(slot + 1) * self.dimensions];
        let mut cells = row.iter_mut();
        self.scales[slot] = quantize::row(&vector, |q| {
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

    /// Writes the estimated cosine of every slot with the query.
    pub(super) fn estimate_cosines(&self, query: &QueryVector, cosines: &mut [f32]) {
        let head = self.head();
        let gain = if head < self.dimensions { HEAD_GAIN } else { 1.0 } * query.scale;
        let wide = query.wide.get(..head).unwrap_or_default();
        let rows = self.heads.chunks_exact(head.max(1)).zip(&self.scales);
        for (cosine, (row, scale)) in cosines.iter_mut().zip(rows) {
            *cosine = quantize::dot(row, wide) as f32 * (scale * gain);
        }
    }

    /// Returns the cosine of one slot with the query.
    pub(super) fn cosine(&self, query: &QueryVector, slot: u32) -> f32 {
        let slot = slot as usize;
        let row = &self.rows[slot * self.dimensions..(slot + 1) * self.dimensions];
        quantize::dot(row, &query.wide) as f32 * (self.scales[slot] * query.scale)
    }
}

/// Returns the unit vector of a tool: the weighted sum of its views, each of length 1.
fn vector(profile: &ToolProfile, model: &Model) -> Vec<f32> {
    let mut sum = vec![0.0; model.dimensions()];
    for (text, share) in profile_fields::views(profile) {
        for (sum, x) in sum.iter_mut().zip(model.embed(&text)) {
            *sum += share * x;
        }
    }
    normalise(&mut sum);
    sum
}
