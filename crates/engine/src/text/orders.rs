//! Orders in plain language: noticed, never cut.
//!
//! Text that a model reads can tell it what to do, and no rule can take that out without taking
//! honest text with it. So orders are flagged. An order is a verb of dropping ("ignore"), an
//! object ("instructions") and a qualifier ("previous") close together in one sentence, or a
//! phrase that is an order by itself; the words of fifteen languages are in
//! [`super::orders_table`].
//!
//! ASCII text is searched for rare anchors first, at the speed of a multi-string search; only
//! the surroundings of a hit are folded and read. Other text is folded as a whole. Time is
//! linear: every window looks at a bounded number of words.
#![deny(clippy::indexing_slicing)]

use super::fold::fold_into;
use super::orders_table::{ANCHORS, Class, MORE_ANCHORS, PAIRS, Step, WORDS};
use super::report::{FlagKind, Report};
use super::scan;
use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::ops::Range;
use std::sync::OnceLock;

/// Bytes that are folded and searched at a time.
const CHUNK: usize = 16 * 1024;

/// Bytes of the next chunk that are read together with one, so that no order is cut in two.
const OVERLAP: usize = 512;

/// Bytes read before and after an anchor.
const SURROUNDINGS: usize = 200;

/// Most bytes of folded text between the verb and the object.
const REACH: usize = 64;

/// Most bytes between the object and a qualifier that follows it ("instructions given above").
const QUALIFIER_REACH: usize = 24;

/// Most words of interest that are looked at from one verb.
const MOST_WORDS: usize = 24;

/// Marks the end of a sentence in folded text.
const SENTENCE_END: char = '\u{1}';

/// Flags the orders in a text.
pub(super) fn find(text: &str, report: &mut Report) {
    let mut folded = String::new();
    let mut squeezed = String::new();
    let mut start = 0;
    while start < text.len() {
        let end = text.floor_char_boundary((start + CHUNK).min(text.len()));
        let with_overlap = text.floor_char_boundary((end + OVERLAP).min(text.len()));
        let chunk = text.get(start..with_overlap).unwrap_or("");
        folded.clear();
        if chunk.is_ascii() {
            lower_into(chunk, &mut folded);
            for window in windows(&folded) {
                squeeze(folded.get(window).unwrap_or(""), &mut squeezed);
                judge(&squeezed, report);
            }
        } else {
            fold_into(chunk, &mut folded);
            squeeze(&folded, &mut squeezed);
            judge(&squeezed, report);
        }
        start = end.max(start + 1);
    }
}

/// ASCII to lower case.
fn lower_into(chunk: &str, out: &mut String) {
    out.push_str(chunk);
    out.make_ascii_lowercase();
}

/// The surroundings of the anchors, merged where they overlap.
fn windows(folded: &str) -> Vec<Range<usize>> {
    let mut hits: Vec<usize> = Vec::new();
    for searcher in anchors() {
        hits.extend(searcher.find_iter(folded).map(|hit| hit.start()));
    }
    hits.sort_unstable();
    let mut merged: Vec<Range<usize>> = Vec::new();
    for hit in hits {
        let start = folded.floor_char_boundary(hit.saturating_sub(SURROUNDINGS));
        let end = folded.ceil_char_boundary((hit + SURROUNDINGS).min(folded.len()));
        match merged.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => merged.push(start..end),
        }
    }
    merged
}

/// Where the target has no vector instructions, the searchers still work, only slower.
fn anchors() -> &'static [Searcher] {
    static ANCHOR_SEARCH: OnceLock<Vec<Searcher>> = OnceLock::new();
    ANCHOR_SEARCH.get_or_init(|| {
        let build = |words: &[&str]| {
            Searcher::new(words).or_else(|| {
                let mut config = aho_corasick::packed::Config::new();
                config.only_rabin_karp(true).builder().extend(words).build()
            })
        };
        [ANCHORS, MORE_ANCHORS].into_iter().filter_map(build).collect()
    })
}

/// Blanks to one blank, sentence ends to [`SENTENCE_END`], emphasis marks dropped.
fn squeeze(folded: &str, out: &mut String) {
    out.clear();
    let mut newlines = 0;
    let mut chars = folded.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '*' | '`' | '"' => {}
            '\n' => {
                newlines += 1;
                if newlines == 2 {
                    out.push(SENTENCE_END);
                }
                push_blank(out);
            }
            ' ' | '\t' | '\r' => push_blank(out),
            '.' | '!' | '?' if chars.peek().is_none_or(|next| next.is_whitespace()) => {
                out.push(SENTENCE_END);
            }
            '。' | '！' | '？' | '।' | '؟' => out.push(SENTENCE_END),
            c => {
                newlines = 0;
                out.push(c);
            }
        }
    }
}

fn push_blank(out: &mut String) {
    if !out.ends_with(' ') {
        out.push(' ');
    }
}

/// All words of all tables in one automaton, with what each is.
struct Lexicon {
    automaton: AhoCorasick,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    class: Class,
    /// Must begin at the start of a word.
    at_start: bool,
    /// Must end at the end of a word.
    whole: bool,
}

impl Lexicon {
    /// Built at the first text that has an anchor or is not ASCII; `None` never happens with
    /// tables that fit into memory.
    fn get() -> Option<&'static Self> {
        static LEXICON: OnceLock<Option<Lexicon>> = OnceLock::new();
        LEXICON.get_or_init(Self::build).as_ref()
    }

    fn build() -> Option<Self> {
        let mut patterns = Vec::new();
        let mut entries = Vec::new();
        for (class, at_start, words) in Self::tables() {
            for word in words {
                let stem = word.strip_suffix('|');
                let mut folded = String::new();
                fold_into(stem.unwrap_or(word), &mut folded);
                patterns.push(folded);
                entries.push(Entry { class, at_start, whole: stem.is_some() });
            }
        }
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        let automaton = AhoCorasick::builder().kind(kind).build(&patterns).ok()?;
        Some(Self { automaton, entries })
    }

    fn tables() -> impl Iterator<Item = (Class, bool, &'static [&'static str])> {
        let words = WORDS.iter().map(|words| (words.class, words.spaced, words.words));
        let pairs = PAIRS.iter().enumerate().flat_map(|(rule, pair)| {
            [
                (Class::Part(rule, Step::First), true, pair.first),
                (Class::Part(rule, Step::Second), true, pair.second),
            ]
        });
        words.chain(pairs)
    }

    fn hits(&self, text: &str) -> Vec<Hit> {
        let hits = self.automaton.find_overlapping_iter(text).filter_map(|found| {
            let entry = self.entries.get(found.pattern().as_usize())?;
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let starts = !scan::before(text, found.start()).ends_with(is_word);
            let ends = !scan::from(text, found.end()).starts_with(is_word);
            ((starts || !entry.at_start) && (ends || !entry.whole))
                .then_some(Hit { class: entry.class, start: found.start(), end: found.end() })
        });
        let mut hits: Vec<Hit> = hits.collect();
        hits.sort_by_key(|hit| hit.start);
        hits
    }
}

/// A word of interest in squeezed text.
#[derive(Clone, Copy)]
struct Hit {
    class: Class,
    start: usize,
    end: usize,
}

fn judge(text: &str, report: &mut Report) {
    let Some(lexicon) = Lexicon::get() else { return };
    let hits = lexicon.hits(text);
    for (index, hit) in hits.iter().enumerate() {
        let near = Near { text, hits: &hits, index, hit: *hit };
        match hit.class {
            Class::Verb => near.order_after(false, report),
            Class::WeakVerb => near.order_after(true, report),
            Class::AnyVerb => {
                near.order_after(false, report);
                near.order_before(report);
            }
            Class::Phrase(kind) if near.is_meant() => near.flag(kind, hit.end, report),
            Class::Part(rule, Step::First) => near.pair(rule, report),
            _ => {}
        }
    }
}

/// One hit among the others.
struct Near<'a> {
    text: &'a str,
    hits: &'a [Hit],
    index: usize,
    hit: Hit,
}

impl Near<'_> {
    fn following(&self) -> impl Iterator<Item = &Hit> {
        self.hits.iter().skip(self.index + 1).take(MOST_WORDS)
    }

    fn order_after(&self, weak_verb: bool, report: &mut Report) {
        if self.is_denied() {
            return;
        }
        let object = self.following().find(|object| {
            object.start >= self.hit.end
                && self.one_sentence(self.hit.end, object.start, REACH)
                && self.fits(object, self.hit.end, weak_verb)
        });
        if let Some(object) = object {
            self.flag(FlagKind::OverrideInstructions, object.end, report);
        }
    }

    fn order_before(&self, report: &mut Report) {
        let before = self.index.saturating_sub(MOST_WORDS)..self.index;
        let candidates = self.hits.get(before).unwrap_or(&[]);
        let object = candidates.iter().find(|object| {
            object.end <= self.hit.start
                && self.one_sentence(object.end, self.hit.start, REACH)
                && self.fits(object, object.start.saturating_sub(REACH), false)
        });
        if let Some(object) = object {
            let near = Near { hit: *object, ..*self };
            near.flag(FlagKind::OverrideInstructions, self.hit.end, report);
        }
    }

    /// Whether the object is one, with a qualifier that says whose it is.
    fn fits(&self, object: &Hit, from: usize, weak_verb: bool) -> bool {
        let (weak_object, broad_will_do) = match object.class {
            Class::Object => (false, !weak_verb),
            Class::WeakObject => (true, false),
            _ => return false,
        };
        if weak_object && weak_verb {
            return false;
        }
        let first = self.index.saturating_sub(MOST_WORDS);
        self.hits.iter().skip(first).take(2 * MOST_WORDS).any(|hit| {
            let qualifies = match hit.class {
                Class::Near => true,
                Class::Broad => broad_will_do,
                _ => false,
            };
            let before = hit.start >= from && hit.end <= object.start;
            let after = hit.start >= object.end
                && self.one_sentence(object.end, hit.start, QUALIFIER_REACH);
            qualifies && (before || after)
        })
    }

    fn pair(&self, rule: usize, report: &mut Report) {
        let Some(pair) = PAIRS.get(rule) else { return };
        let second = self.following().find(|second| {
            second.class == Class::Part(rule, Step::Second)
                && second.start >= self.hit.end
                && self.one_sentence(self.hit.end, second.start, pair.gap)
        });
        let Some(second) = second else { return };
        if !pair.to_address || self.address_follows(second.end, pair.gap) {
            self.flag(pair.kind, second.end, report);
        }
    }

    fn address_follows(&self, from: usize, reach: usize) -> bool {
        let rest = scan::from(self.text, from);
        let near = scan::before(rest, rest.floor_char_boundary(reach));
        near.contains("http:") || near.contains("https:")
    }

    fn one_sentence(&self, start: usize, end: usize, reach: usize) -> bool {
        end >= start
            && end - start <= reach
            && self.text.get(start..end).is_some_and(|gap| !gap.contains(SENTENCE_END))
    }

    /// "do not ignore …", "do not forget …", "forget to …" order the opposite.
    fn is_denied(&self) -> bool {
        let before = scan::before(self.text, self.hit.start);
        ["not ", "n't ", "never ", "without "].iter().any(|word| before.ends_with(word))
            || scan::from(self.text, self.hit.end).starts_with(" to ")
    }

    /// "you are now a member" tells a person what happened.
    fn is_meant(&self) -> bool {
        const HONEST: [&str; 12] = [
            "member", "contributor", "collaborator", "subscriber", "maintainer", "follower",
            "owner", "admin", "part", "registered", "verified", "step",
        ];
        let next = scan::from(self.text, self.hit.end).trim_start();
        !HONEST.iter().any(|word| next.starts_with(word))
    }

    fn flag(&self, kind: FlagKind, end: usize, report: &mut Report) {
        report.flag(kind, self.text.get(self.hit.start..end).unwrap_or(""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ascii_order_contains_an_anchor() {
        let covered = |word: &str| {
            let mut folded = String::new();
            fold_into(word.trim_end_matches('|'), &mut folded);
            !folded.is_ascii() || ANCHORS.iter().chain(MORE_ANCHORS).any(|a| folded.contains(a))
        };
        for words in WORDS {
            if matches!(
                words.class,
                Class::Verb | Class::AnyVerb | Class::WeakVerb | Class::Phrase(_)
            ) {
                for word in words.words {
                    assert!(covered(word), "no anchor in {word}");
                }
            }
        }
        for pair in PAIRS {
            let all = |words: &[&str]| words.iter().all(|word| covered(word));
            assert!(all(pair.first) || all(pair.second), "no anchors for {:?}", pair.kind);
        }
    }

    #[test]
    fn the_fast_search_takes_all_anchors() {
        assert!(ANCHORS.len() <= 64 && MORE_ANCHORS.len() <= 64);
        assert_eq!(anchors().len(), 2);
        assert!(Lexicon::get().is_some());
    }
}
