//! Meaning to tools: a quantised vector per tool, all in one block of memory.

use crate::model::{Model, normalise};
use crate::profile::Profile;
use crate::quantise;

use super::field;

/// The vectors of all tools, by slot.
pub(super) struct Dense {
    dimensions: usize,
    rows: Vec<i8>,
    /// What the integers of a row have to be multiplied with; 0 for an empty slot.
    scales: Vec<f32>,
}

/// The vector of a query or of one of its needs.
pub(super) struct QueryVector {
    wide: Vec<i16>,
    scale: f32,
}

impl QueryVector {
    /// Embeds and quantises a text.
    pub(super) fn of(model: &Model, text: &str) -> Self {
        let vector = model.embed(text);
        let mut wide = Vec::with_capacity(vector.len());
        let scale = quantise::row(&vector, |q| wide.push(i16::from(q)));
        Self { wide, scale }
    }
}

impl Dense {
    /// Without tools.
    pub(super) fn new(dimensions: usize) -> Self {
        Self { dimensions, rows: Vec::new(), scales: Vec::new() }
    }

    /// Puts the vector of a profile into a slot.
    pub(super) fn add(&mut self, slot: u32, profile: &Profile, model: &Model) {
        let slot = slot as usize;
        if self.scales.len() <= slot {
            self.scales.resize(slot + 1, 0.0);
            self.rows.resize((slot + 1) * self.dimensions, 0);
        }
        let vector = vector(profile, model);
        let row = &mut self.rows[slot * self.dimensions..(slot + 1) * self.dimensions];
        let mut cells = row.iter_mut();
        self.scales[slot] = quantise::row(&vector, |q| {
            if let Some(cell) = cells.next() {
                *cell = q;
            }
        });
    }

    /// Empties a slot.
    pub(super) fn remove(&mut self, slot: u32) {
        if let Some(scale) = self.scales.get_mut(slot as usize) {
            *scale = 0.0;
        }
    }

    /// Writes the cosine of every slot with the query.
    pub(super) fn score(&self, query: &QueryVector, cosines: &mut [f32]) {
        let rows = self.rows.chunks_exact(self.dimensions).zip(&self.scales);
        for (cosine, (row, scale)) in cosines.iter_mut().zip(rows) {
            *cosine = quantise::dot(row, &query.wide) as f32 * (scale * query.scale);
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
