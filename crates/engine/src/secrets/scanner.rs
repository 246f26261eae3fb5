//! Finds forms of secrets in complete or streamed bytes. A small automaton searches for the first
//! eight bytes of each form; the rest is compared only at their matches.
#![deny(clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use zeroize::Zeroizing;

/// Length of the prefix of every form, which is also the minimum length of a secret.
pub(super) const PREFIX: usize = 8;
/// Replacement for a secret.
const MASK: &[u8] = b"***";
/// Maximum number of prefixes for which the automaton is a table, the fastest form: a few MB at
/// most.
const TABLE: usize = 4000;

/// Forms by their prefix.
pub(super) struct SecretMatcher {
    beginnings: AhoCorasick,
    /// The forms of each prefix, longest first.
    forms: Vec<Vec<Zeroizing<Vec<u8>>>>,
}

/// Progress in a part of a stream.
pub(super) struct ScanProgress {
    /// Processed bytes.
    pub(super) done: usize,
    /// Following bytes that belong to a secret whose mask was already written.
    pub(super) covered: usize,
}

impl SecretMatcher {
    /// Creates a matcher for these forms; `None` if there are none.
    pub(super) fn new(forms: BTreeSet<Vec<u8>>) -> Option<Self> {
        let mut by_beginning: BTreeMap<[u8; PREFIX], Vec<Zeroizing<Vec<u8>>>> = BTreeMap::new();
        for form in forms {
            if let Some(beginning) = form.first_chunk().copied() {
                by_beginning.entry(beginning).or_default().push(Zeroizing::new(form));
            }
        }
        if by_beginning.is_empty() {
            return None;
        }
        let kind = (by_beginning.len() <= TABLE).then_some(AhoCorasickKind::DFA);
        let beginnings = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(kind)
            .build(by_beginning.keys())
            .ok()?;
        let mut forms: Vec<_> = by_beginning.into_values().collect();
        forms.iter_mut().for_each(|forms| forms.sort_by_key(|form| std::cmp::Reverse(form.len())));
        Some(Self { beginnings, forms })
    }

    /// Returns whether a text contains a form.
    pub(super) fn occurs_in(&self, text: &[u8]) -> bool {
        self.candidates(text).any(|(start, forms)| {
            let rest = text.get(start..).unwrap_or_default();
            forms.iter().any(|form| rest.starts_with(form))
        })
    }

    /// Returns whether a text contains the prefix of a form; most texts contain none.
    pub(super) fn may_occur_in(&self, text: &[u8]) -> bool {
        self.beginnings.is_match(text)
    }

    /// Writes the text with secrets masked; overlapping secrets get one mask. If the stream
    /// continues (`last` = `false`), a possible beginning of a form is left for the next call. The
    /// first `covered` bytes are already masked.
    pub(super) fn mask_into(
        &self,
        text: &[u8],
        covered: usize,
        last: bool,
        out: &mut Vec<u8>,
    ) -> ScanProgress {
        let mut from = covered.min(text.len());
        let mut end = if last { text.len() } else { text.len().saturating_sub(PREFIX - 1) };
        for (start, forms) in self.candidates(text) {
            let rest = text.get(start..).unwrap_or_default();
            match longest(rest, forms, last) {
                ScanMatch::Whole(length) if start < from => from = from.max(start + length),
                ScanMatch::Whole(length) => {
                    out.extend_from_slice(text.get(from..start).unwrap_or_default());
                    out.extend_from_slice(MASK);
                    from = start + length;
                }
                ScanMatch::Nothing => {}
                ScanMatch::Undecided => {
                    end = start;
                    break;
                }
            }
        }
        let end = end.max(covered.min(text.len()).min(end));
        if from < end {
            out.extend_from_slice(text.get(from..end).unwrap_or_default());
        }
        ScanProgress { done: end, covered: from.saturating_sub(end) }
    }

    fn candidates<'a>(
        &'a self,
        text: &'a [u8],
    ) -> impl Iterator<Item = (usize, &'a [Zeroizing<Vec<u8>>])> {
        let found = self.beginnings.try_find_overlapping_iter(Input::new(text));
        found.into_iter().flatten().filter_map(|found| {
            Some((found.start(), self.forms.get(found.pattern().as_usize())?.as_slice()))
        })
    }
}

enum ScanMatch {
    Nothing,
    /// Length of the longest matching form in bytes.
    Whole(usize),
    /// More input is needed to decide.
    Undecided,
}

fn longest(rest: &[u8], forms: &[Zeroizing<Vec<u8>>], last: bool) -> ScanMatch {
    for form in forms {
        if rest.starts_with(form) {
            return ScanMatch::Whole(form.len());
        }
        if !last && form.starts_with(rest) {
            return ScanMatch::Undecided;
        }
    }
    ScanMatch::Nothing
}
