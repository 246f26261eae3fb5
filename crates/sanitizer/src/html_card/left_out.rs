//! What a card was left without. Only words of ours: names that the tool made up are not repeated.

use std::collections::BTreeMap;

/// Kinds of parts that were left out, with their counts.
#[derive(Debug, Default)]
pub(super) struct LeftOut(BTreeMap<&'static str, usize>);

impl LeftOut {
    pub(super) fn add(&mut self, kind: &'static str) {
        *self.0.entry(kind).or_default() += 1;
    }

    pub(super) fn into_words(self) -> Vec<String> {
        self.0.into_iter().map(|(kind, count)| format!("{kind} ({count})")).collect()
    }
}
