//! Truncates a text in the middle, with exact counts.
//!
//! The first line contains the counts, a marker replaces the omitted part, and the result,
//! including both, contains at most the given number of characters: half of the rest from each end.
//! Neither line adds a blank line, so that no text at the cut becomes the start of a paragraph.

use std::borrow::Cow;
use unicode_normalization::char::is_combining_mark;

/// Maximum number of characters by which the cut moves to avoid splitting a combined character.
const MOST_SHIFT: usize = 16;

/// With [`Keep::Tail`], the head receives this part of the remaining text: enough for the command's
/// name and its first words, while the failures of a test run are at its end.
const HEAD_OF_TAIL_MODE: usize = 10;

/// The end of a long text that is more important.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// Head and tail equally.
    #[default]
    Both,
    /// Mostly the tail, as for test output.
    Tail,
}

/// The omitted part, in characters (Unicode scalar values).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Number of characters of the text before truncation.
    pub total_chars: usize,
    /// Number of characters preserved from the beginning.
    pub kept_head: usize,
    /// Number of characters preserved from the end.
    pub kept_tail: usize,
    /// Number of characters omitted between them.
    pub omitted: usize,
}

/// A text that fits the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TruncatedText<'a> {
    /// The text; borrowed if it was short enough.
    pub text: Cow<'a, str>,
    /// The omitted part, if any.
    pub cut: Option<Cut>,
}

/// The limits for truncating a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TruncationLimits<'r> {
    /// Maximum number of characters of the result, including count line and marker.
    pub max_chars: usize,
    /// The end to preserve.
    pub keep: Keep,
    /// The artifact that contains the whole text; the marker then explains how to continue reading.
    pub artifact_ref: Option<&'r str>,
}

/// Truncates a text to `max_chars` characters, head and tail equally, without an artifact.
///
/// ```
/// use toolcrib_sanitizer::truncate;
///
/// let log = "begin ".to_owned() + &"x".repeat(1_000) + " end";
/// let short = truncate(&log, 200);
/// assert!(short.text.starts_with("[Showing ") && short.text.ends_with(" end"));
/// assert!(short.text.chars().count() <= 200);
/// assert_eq!(truncate("short", 200).cut, None);
/// ```
#[must_use]
pub fn truncate(text: &str, max_chars: usize) -> TruncatedText<'_> {
    TruncationLimits { max_chars, keep: Keep::Both, artifact_ref: None }.apply(text)
}

impl TruncationLimits<'_> {
    /// Returns whether a text would be truncated. Reads no more than `max_chars` characters.
    #[must_use]
    pub fn exceeds(&self, text: &str) -> bool {
        text.len() > self.max_chars && text.chars().nth(self.max_chars).is_some()
    }

    /// Truncates a text. If not even the two lines fit, the result is the beginning of the text
    /// without them.
    #[must_use]
    pub fn apply<'a>(&self, text: &'a str) -> TruncatedText<'a> {
        if !self.exceeds(text) {
            return TruncatedText { text: Cow::Borrowed(text), cut: None };
        }
        let total = text.chars().count();
        // The lines are longest if every number has as many digits as the total.
        let longest =
            Cut { total_chars: total, kept_head: total, kept_tail: total, omitted: total };
        let lines = chars(&self.count_line(&longest)) + chars(&self.marker(&longest, text.len()));
        let Some(room) = self.max_chars.checked_sub(lines).filter(|room| *room >= 2) else {
            return self.head_only(text, total);
        };
        let head_room = match self.keep {
            Keep::Both => room / 2,
            Keep::Tail => room / HEAD_OF_TAIL_MODE,
        };
        let tail_room = if self.keep == Keep::Both { head_room } else { room - head_room };
        let (head, kept_head) = head(text, head_room);
        let (tail, kept_tail) = tail(text, tail_room);
        let omitted = total - kept_head - kept_tail;
        let cut = Cut { total_chars: total, kept_head, kept_tail, omitted };
        let text = [&self.count_line(&cut), head, &self.marker(&cut, head.len()), tail].concat();
        TruncatedText { text: Cow::Owned(text), cut: Some(cut) }
    }

    fn head_only<'a>(&self, text: &'a str, total: usize) -> TruncatedText<'a> {
        let (head, kept_head) = head(text, self.max_chars);
        let cut = Cut { total_chars: total, kept_head, kept_tail: 0, omitted: total - kept_head };
        TruncatedText { text: Cow::Borrowed(head), cut: Some(cut) }
    }

    fn count_line(&self, cut: &Cut) -> String {
        let Cut { total_chars, kept_head, kept_tail, .. } = cut;
        format!(
            "[Showing {} of {} characters: the first {} and the last {}.]\n",
            kept_head + kept_tail,
            *total_chars,
            *kept_head,
            *kept_tail
        )
    }

    /// Renders the marker. `head_bytes` is the offset at which `read_artifact`, which counts bytes,
    /// continues; exact unless characters before it were escaped.
    fn marker(&self, cut: &Cut, head_bytes: usize) -> String {
        let omitted = cut.omitted;
        match self.artifact_ref {
            Some(artifact) => format!(
                "\n[... {omitted} characters omitted; read_artifact(ref=\"{artifact}\", offset={head_bytes}) \
                 reads on from here ...]\n"
            ),
            None => format!("\n[... {omitted} characters omitted ...]\n"),
        }
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Returns at most `most` characters from the beginning, and their number.
fn head(text: &str, most: usize) -> (&str, usize) {
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    let (kept, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let mut shorter = kept.char_indices().rev();
    let mut after = rest.chars().next();
    for shift in 0..MOST_SHIFT.min(most) {
        let Some((at, before)) = shorter.next() else { break };
        if !after.is_some_and(|after| belongs_together(&kept[..at], before, after)) {
            return (&kept[..at + before.len_utf8()], most - shift);
        }
        after = Some(before);
    }
    (kept, most)
}

/// Returns at most `most` characters from the end, and their number.
fn tail(text: &str, most: usize) -> (&str, usize) {
    if most == 0 {
        return ("", 0);
    }
    let start = text.char_indices().rev().nth(most - 1).map_or(0, |(at, _)| at);
    let (mut before, kept) = text.split_at_checked(start).unwrap_or(("", text));
    for (shift, (at, c)) in kept.char_indices().take(MOST_SHIFT).enumerate() {
        let previous = before.chars().next_back();
        let earlier = previous.map_or("", |p| &before[..before.len() - p.len_utf8()]);
        if !previous.is_some_and(|previous| belongs_together(earlier, previous, c)) {
            return (&kept[at..], most - shift);
        }
        before = &text[..start + at + c.len_utf8()];
    }
    (kept, most)
}

/// Returns whether a cut between two characters would split one that a reader sees as a whole (the
/// rules GB3 and GB9 to GB13 of UAX #29, without the conjoining of Hangul and Indic letters).
fn belongs_together(earlier: &str, before: char, after: char) -> bool {
    let is_region = |c: char| matches!(c, '\u{1F1E6}'..='\u{1F1FF}');
    let extends = is_combining_mark(after)
        || matches!(after, '\u{200D}' | '\u{FE00}'..='\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}'
            | '\u{E0020}'..='\u{E007F}' | '\u{E0100}'..='\u{E01EF}');
    let regions =
        || earlier.chars().rev().take(2 * MOST_SHIFT).take_while(|c| is_region(*c)).count();
    (before == '\r' && after == '\n')
        || (extends && !before.is_control())
        || before == '\u{200D}'
        || (is_region(before) && is_region(after) && regions().is_multiple_of(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_text_is_borrowed() {
        for text in ["", "abc", "äöü", &"x".repeat(20)] {
            let bounded = truncate(text, 20);
            assert!(matches!(bounded.text, Cow::Borrowed(same) if same == text));
            assert_eq!(bounded.cut, None);
        }
    }

    #[test]
    fn a_long_text_is_cut_in_the_middle() {
        let text = "0123456789".repeat(5_000);
        let bounded = truncate(&text, 20_000);
        let cut = bounded.cut.unwrap();
        assert_eq!(cut.total_chars, 50_000);
        assert_eq!(cut.kept_head, cut.kept_tail);
        assert_eq!(cut.kept_head + cut.kept_tail + cut.omitted, 50_000);
        let first = format!(
            "[Showing {} of 50000 characters: the first {} and the last {}.]",
            2 * cut.kept_head,
            cut.kept_head,
            cut.kept_head
        );
        assert_eq!(bounded.text.lines().next(), Some(first.as_str()));
        assert!(
            bounded.text.contains(&format!("\n[... {} characters omitted ...]\n", cut.omitted))
        );
        assert!((19_990..=20_000).contains(&chars(&bounded.text)));
    }

    #[test]
    fn the_marker_names_the_artifact() {
        let text = "x".repeat(1_000);
        let bounds =
            TruncationLimits { max_chars: 400, keep: Keep::Tail, artifact_ref: Some("a1b2") };
        let bounded = bounds.apply(&text);
        let cut = bounded.cut.unwrap();
        assert!(cut.kept_tail > 8 * cut.kept_head, "{cut:?}");
        let place = format!("read_artifact(ref=\"a1b2\", offset={})", cut.kept_head);
        assert!(bounded.text.contains(&place), "{}", bounded.text);
    }

    #[test]
    fn a_cut_keeps_out_of_what_reads_as_one_character() {
        let check = |text: &str, most: usize, expected: &str| {
            assert_eq!(head(text, most).0, expected, "head {most} of {text:?}");
        };
        check("ab\r\ncd", 3, "ab");
        check("e\u{301}e\u{301}", 3, "e\u{301}");
        check("x👨\u{200D}👩\u{200D}👧y", 3, "x");
        check("🇩🇪🇫🇷", 3, "🇩🇪");
        check("🇩🇪🇫🇷", 2, "🇩🇪");
        assert_eq!(tail("ab\r\ncd", 3), ("cd", 2));
        assert_eq!(tail("🇩🇪🇫🇷", 3), ("🇫🇷", 2));
        assert_eq!(tail("x👍🏽y", 2), ("y", 1));
        // A pile of marks higher than any script's is cut all the same.
        let pile = format!("e{}", "\u{301}".repeat(100));
        assert_eq!(head(&pile, 50).1, 50);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn counts_are_exact_and_the_bound_holds(
            text in "(\\PC|\r\n|\u{301}|\u{200D}|[🇩🇪👍🏽]){0,600}",
            max_chars in 0_usize..500,
            tail_mode: bool,
            artifact in proptest::option::of("[a-z]{1,20}"),
        ) {
            let keep = if tail_mode { Keep::Tail } else { Keep::Both };
            let bounds = TruncationLimits { max_chars, keep, artifact_ref: artifact.as_deref() };
            let bounded = bounds.apply(&text);
            prop_assert!(chars(&bounded.text) <= max_chars);
            let Some(cut) = bounded.cut else {
                prop_assert_eq!(&bounded.text, &text);
                return Ok(());
            };
            prop_assert_eq!(cut.total_chars, chars(&text));
            prop_assert_eq!(cut.kept_head + cut.omitted + cut.kept_tail, cut.total_chars);
            let head: String = text.chars().take(cut.kept_head).collect();
            let tail: String = text.chars().skip(cut.total_chars - cut.kept_tail).collect();
            prop_assert!(bounded.text.ends_with(&tail));
            if cut.kept_tail > 0 {
                let expected = format!("{}{head}{}{tail}", bounds.count_line(&cut), bounds.marker(&cut, head.len()));
                prop_assert_eq!(&*bounded.text, &expected);
            } else {
                prop_assert_eq!(&*bounded.text, &head);
            }
        }
    }
}
