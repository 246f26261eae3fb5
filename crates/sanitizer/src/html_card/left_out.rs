//! The parts that were omitted from a card. The report contains only fixed words: names that the
//! tool invented are not repeated.

use std::collections::BTreeMap;

/// Kinds of omitted parts, with their counts.
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
