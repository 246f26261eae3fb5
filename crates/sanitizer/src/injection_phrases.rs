//! Injection phrases, which are orders to the model in plain language: flagged, never removed.
//!
//! Text that a model reads can contain orders, and no rule can remove them without also removing
//! benign text. They are therefore flagged. An order is a verb of dropping ("ignore"), an object
//! ("instructions") and a qualifier ("previous") close together in one sentence, or a phrase that
//! is an order by itself; the words of fifteen languages are in [`super::injection_phrase_table`].
//!
//! The scan searches for the words that begin an order and reads only the surroundings of each in
//! full. ASCII is searched unchanged, other text is folded first. Time is linear: overlapping
//! surroundings are read once, and each verb is compared with a bounded number of words.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::confusable_folding::{Folder, SENTENCE_END};
use super::disguised_words;
use super::injection_phrase_index::{Hit, PhraseIndex};
use super::injection_phrase_pairs::PAIRS;
use super::injection_phrase_table::{Class, Step};
use super::report::{FlagKind, Report};
use std::ops::Range;

/// Number of bytes searched at a time.
const CHUNK: usize = 16 * 1024;

/// Number of bytes of the next chunk that are read together with the current one, so that no order
/// is split.
const OVERLAP: usize = 512;

/// Number of bytes read before and after the word that begins an order.
const SURROUNDINGS: usize = 200;

/// Maximum bytes of folded text between the verb and the object.
const REACH: usize = 64;

/// Maximum bytes between the object and a following qualifier ("instructions given above").
const QUALIFIER_REACH: usize = 24;

/// Maximum number of table words checked for one verb.
const MOST_WORDS: usize = 24;

/// Flags the orders in a text.
pub(super) fn flag_injection_phrases(text: &str, report: &mut Report) {
    let lexicon = PhraseIndex::get();
    let (mut folded, mut squeezed) = (String::new(), String::new());
    let mut folder = None;
    let mut start = 0;
    while start < text.len() {
        let end = text.floor_char_boundary((start + CHUNK).min(text.len()));
        let with_overlap = text.floor_char_boundary((end + OVERLAP).min(text.len()));
        let chunk = text.get(start..with_overlap).unwrap_or("");
        let searched = if chunk.is_ascii() {
            chunk
        } else {
            folded.clear();
            folder.get_or_insert_with(Folder::new).fold_into(chunk, &mut folded);
            squeeze(&folded, &mut squeezed);
            std::mem::swap(&mut folded, &mut squeezed);
            &folded
        };
        for window in windows(searched, lexicon) {
            let mut lower = searched.get(window).unwrap_or("").to_owned();
            lower.make_ascii_lowercase();
            squeeze(&lower, &mut squeezed);
            if judge(&squeezed, lexicon, report) {
                if disguised_words::is_spaced_order(&lower) {
                    report.flag(FlagKind::OverrideInstructions, lower.trim());
                }
                squeeze(&disguised_words::with_letters(&lower), &mut squeezed);
                judge(&squeezed, lexicon, report);
            }
        }
        start = end.max(start + 1);
    }
}

/// Returns the surroundings of the words that begin orders, merged where they overlap.
fn windows(text: &str, lexicon: &PhraseIndex) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    lexicon.beginnings(text, |hit| {
        let start = text.floor_char_boundary(hit.saturating_sub(SURROUNDINGS));
        let end = text.ceil_char_boundary((hit + SURROUNDINGS).min(text.len()));
        match merged.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => merged.push(start..end),
        }
    });
    merged
}

/// Replaces runs of blanks by one blank and sentence ends by [`SENTENCE_END`]; drops emphasis marks
/// and controls.
fn squeeze(folded: &str, out: &mut String) {
    out.clear();
    let mut newlines = 0;
    let mut rest = folded;
    while !rest.is_empty() {
        let copied = unchanged_prefix(rest.as_bytes());
        if copied > 0 {
            newlines = 0;
            out.push_str(byte_scan::text_before(rest, copied));
        }
        rest = byte_scan::text_from(rest, copied);
        let Some(&special) = rest.as_bytes().first() else { break };
        rest = byte_scan::text_from(rest, 1);
        match special {
            b'\n' => {
                newlines += 1;
                if newlines == 2 {
                    out.push(SENTENCE_END);
                }
                push_blank(out);
            }
            b' ' | b'\t' | b'\r' => {
                rest = rest.trim_start_matches([' ', '\t', '\r']);
                push_blank(out);
            }
            b'.' | b'!' | b'?' => {
                let ends = rest.bytes().next().is_none_or(|next| next.is_ascii_whitespace());
                out.push(if ends { SENTENCE_END } else { char::from(special) });
            }
            1 => out.push(SENTENCE_END),
            _ => {}
        }
    }
    push_blank(out);
}

/// Returns the number of bytes that [`squeeze`] copies unchanged: words, and the single blanks and
/// punctuation marks between them. Copying them together takes half the time of copying each word.
fn unchanged_prefix(text: &[u8]) -> usize {
    static ROLES: [u8; 256] = squeeze_roles();
    let role = |byte: &u8| ROLES.get(usize::from(*byte)).copied().unwrap_or(SPECIAL);
    let Some(mut here) = text.first().map(role).filter(|role| *role == PLAIN) else { return 0 };
    for (at, next) in text.iter().skip(1).map(role).enumerate() {
        // True for a special byte, and for a separator before anything that is not plain.
        if here & (next | (SPECIAL ^ SEPARATOR)) != 0 {
            return at;
        }
        here = next;
    }
    text.len() - usize::from(here != PLAIN)
}

/// A byte that [`squeeze`] copies unchanged.
const PLAIN: u8 = 0b00;
/// A byte that it copies unchanged between two such bytes.
const SEPARATOR: u8 = 0b01;
/// Any other byte.
const SPECIAL: u8 = 0b11;

#[expect(clippy::indexing_slicing, reason = "runs at compile time, where it fails the build")]
const fn squeeze_roles() -> [u8; 256] {
    let mut roles = [PLAIN; 256];
    let mut byte = 0;
    while byte < 256 {
        roles[byte] = match byte as u8 {
            b' ' | b'.' | b'!' | b'?' => SEPARATOR,
            0..b' ' | b'*' | b'`' | b'"' | 0x7F => SPECIAL,
            _ => PLAIN,
        };
        byte += 1;
    }
    roles
}

fn push_blank(out: &mut String) {
    if out.as_bytes().last() != Some(&b' ') {
        out.push(' ');
    }
}

/// Flags the orders in a squeezed text; returns whether it contains a verb in a disguised spelling.
fn judge(text: &str, lexicon: &PhraseIndex, report: &mut Report) -> bool {
    let hits = lexicon.hits(text);
    for (index, hit) in hits.iter().enumerate() {
        let near = PhraseContext { text, hits: &hits, index, hit: *hit };
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
    hits.iter().any(|hit| hit.class == Class::Disguised)
}

/// One hit with the other hits around it.
struct PhraseContext<'a> {
    text: &'a str,
    hits: &'a [Hit],
    index: usize,
    hit: Hit,
}

impl PhraseContext<'_> {
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
            let near = PhraseContext { hit: *object, ..*self };
            near.flag(FlagKind::OverrideInstructions, self.hit.end, report);
        }
    }

    /// Returns whether the object is one, with a qualifier that identifies its owner.
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
        let rest = byte_scan::text_from(self.text, from);
        let near = byte_scan::text_before(rest, rest.floor_char_boundary(reach));
        near.contains("http:") || near.contains("https:")
    }

    fn one_sentence(&self, start: usize, end: usize, reach: usize) -> bool {
        end >= start
            && end - start <= reach
            && self.text.get(start..end).is_some_and(|gap| !gap.contains(SENTENCE_END))
    }

    /// Returns whether the order is negated: "do not ignore …", "do not forget …", "forget to …"
    /// mean the opposite.
    fn is_denied(&self) -> bool {
        let before = byte_scan::text_before(self.text, self.hit.start);
        ["not ", "n't ", "never ", "without "].iter().any(|word| before.ends_with(word))
            || byte_scan::text_from(self.text, self.hit.end).starts_with(" to ")
    }

    /// Returns whether the phrase is an order: "you are now a member" only informs a person.
    fn is_meant(&self) -> bool {
        const HONEST: [&str; 12] = [
            "member",
            "contributor",
            "collaborator",
            "subscriber",
            "maintainer",
            "follower",
            "owner",
            "admin",
            "part",
            "registered",
            "verified",
            "step",
        ];
        let next = byte_scan::text_from(self.text, self.hit.end).trim_start();
        !HONEST.iter().any(|word| next.starts_with(word))
    }

    fn flag(&self, kind: FlagKind, end: usize, report: &mut Report) {
        report.flag(kind, self.text.get(self.hit.start..end).unwrap_or(""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Squeezes a text byte by byte.
    fn squeeze_slowly(folded: &str) -> String {
        let mut out = String::new();
        let mut newlines = 0;
        for (at, c) in folded.char_indices() {
            match c {
                '\n' => {
                    newlines += 1;
                    if newlines == 2 {
                        out.push(SENTENCE_END);
                    }
                    push_blank(&mut out);
                }
                ' ' | '\t' | '\r' => push_blank(&mut out),
                '.' | '!' | '?' => {
                    let next = folded.as_bytes().get(at + 1);
                    let ends = next.is_none_or(|next| next.is_ascii_whitespace());
                    out.push(if ends { SENTENCE_END } else { c });
                }
                SENTENCE_END => out.push(SENTENCE_END),
                '\0'..' ' | '*' | '`' | '"' | '\x7F' => {}
                c => {
                    newlines = 0;
                    out.push(c);
                }
            }
        }
        push_blank(&mut out);
        out
    }

    proptest! {
        #[test]
        fn runs_are_squeezed_as_single_bytes_are(
            text in "[ab.!?*\"` \t\r\n\u{0}\u{1}\u{C}\u{7F}é你]{0,24}",
        ) {
            let mut squeezed = String::new();
            squeeze(&text, &mut squeezed);
            prop_assert_eq!(squeezed, squeeze_slowly(&text));
        }
    }
}
