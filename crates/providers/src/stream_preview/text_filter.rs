//! Text filter of the preview: decides which text can be shown at once and which may be part of a
//! call.
//!
//! Calls in text begin at the start of a line ([`crate::text_tools`] defines the rules). Text
//! before the first possible call is shown as it arrives; the rest is held back until the text is
//! complete. The shown text is always a prefix of the turn's text, except for white space at its
//! ends.
#![deny(clippy::indexing_slicing)]

use crate::text_tools::{self, TextCall};

const OPEN: &str = "<tool_call>";
const FENCE: &str = "```";
/// Maximum number of full parses: each starts at the beginning of the text, and a server may
/// announce the end repeatedly.
const MAX_PARSES: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterMode {
    /// Everything is shown as it arrives.
    Plain,
    /// `<tool_call>` in the text may be a call, because some servers leave it there.
    Tagged,
    /// Every form of a call in the text is a call; white space at the ends of the text does not
    /// count.
    TextTools,
}

/// Position in a line of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    /// At its beginning, with the characters so far except white space.
    Begin(String),
    /// Inside, where no call can begin.
    Inside,
    /// After the marks of an opening fence: number of marks, and the language so far.
    Fence(usize, String),
}

#[derive(Debug)]
pub(super) struct TextFilter {
    mode: FilterMode,
    /// The whole text; unused in [`FilterMode::Plain`].
    all: String,
    /// The text as it was shown.
    shown: String,
    /// End of the last word in `all` that certainly belongs to no call; 0 if there is none yet.
    words: usize,
    /// Bytes of `all` that are shown, or that will never be shown.
    sent: usize,
    line: Line,
    /// Number of marks of the surrounding fence, 0 outside fences.
    fence: usize,
    /// Everything after `words` waits for the end.
    held: bool,
    calls_shown: usize,
    has_native_calls: bool,
    judgments: u32,
}

/// Text and calls that were held back.
#[derive(Debug, Default)]
pub(super) struct FilteredRest {
    pub(super) text: String,
    pub(super) calls: Vec<TextCall>,
}

impl TextFilter {
    pub(super) fn new(mode: FilterMode) -> Self {
        Self {
            mode,
            all: String::new(),
            shown: String::new(),
            words: 0,
            sent: 0,
            line: Line::Begin(String::new()),
            fence: 0,
            held: false,
            calls_shown: 0,
            has_native_calls: false,
            judgments: 0,
        }
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Records that the answer has native calls, so that calls in its text are plain text.
    pub(super) fn native_calls(&mut self) {
        self.has_native_calls = true;
    }

    /// Accepts a piece and returns the text that can be shown.
    pub(super) fn push(&mut self, piece: &str) -> String {
        if self.mode == FilterMode::Plain {
            self.shown.push_str(piece);
            return piece.to_owned();
        }
        for c in piece.chars() {
            self.all.push(c);
            if !self.held {
                self.step(c);
            }
        }
        self.take_safe()
    }

    /// Ends the text and returns the rest.
    pub(super) fn flush(&mut self) -> FilteredRest {
        let nothing_new = self.held && self.sent == self.all.len();
        if self.mode == FilterMode::Plain || nothing_new || self.judgments == MAX_PARSES {
            return FilteredRest::default();
        }
        self.judgments += 1;
        let (text, calls) = self.find_calls();
        let rest = match text.strip_prefix(self.shown.as_str()) {
            Some(rest) => rest.to_owned(),
            // White space at the beginning was shown before the calls after it were known.
            None => text.strip_prefix(self.shown.trim_start()).unwrap_or_default().to_owned(),
        };
        self.shown.push_str(&rest);
        self.sent = self.all.len();
        self.held = true;
        let new = calls.into_iter().skip(self.calls_shown).collect::<Vec<_>>();
        self.calls_shown += new.len();
        FilteredRest { text: rest, calls: new }
    }

    /// Returns the text without its calls, and the calls, as the parser will find them.
    fn find_calls(&self) -> (String, Vec<TextCall>) {
        let calls = match self.mode {
            FilterMode::Plain => Vec::new(),
            FilterMode::Tagged if self.has_native_calls => Vec::new(),
            FilterMode::Tagged => text_tools::tagged_calls(&self.all),
            FilterMode::TextTools => text_tools::find_calls(&self.all),
        };
        let text = match self.mode {
            _ if !calls.is_empty() => text_tools::without_calls(&self.all),
            FilterMode::TextTools => self.all.trim().to_owned(),
            FilterMode::Plain | FilterMode::Tagged => self.all.clone(),
        };
        (text, calls)
    }

    /// Returns text that is decided and not shown yet. White space waits for the next word: before
    /// a call, and at an end of the text, it does not count.
    fn take_safe(&mut self) -> String {
        let end = self.words;
        let ready = self.all.get(self.sent..end).unwrap_or_default();
        let is_first = self.mode == FilterMode::TextTools && self.shown.is_empty();
        let ready = if is_first { ready.trim_start() } else { ready }.to_owned();
        self.sent = self.sent.max(end);
        self.shown.push_str(&ready);
        ready
    }

    /// Processes one character, in constant time for any preceding text.
    fn step(&mut self, c: char) {
        match std::mem::replace(&mut self.line, Line::Inside) {
            Line::Begin(start) if c == '\n' => {
                let closes = self.fence > 0 && start.trim_end().len() >= self.fence;
                self.fence = if closes { 0 } else { self.fence };
                self.decide(c);
            }
            Line::Begin(start) if self.fence > 0 => self.inside_fence(start, c),
            Line::Begin(mut start) => {
                if !(start.is_empty() && c.is_whitespace()) {
                    start.push(c);
                }
                self.begin(start, c);
            }
            Line::Inside => self.decide(c),
            Line::Fence(marks, language) if c == '\n' => self.open(marks, &language),
            Line::Fence(marks, language) if c == '`' && language.is_empty() => {
                self.line = Line::Fence(marks + 1, language);
            }
            Line::Fence(marks, mut language) => {
                // No relevant language is longer.
                if language.len() < 40 {
                    language.push(c);
                }
                self.line = Line::Fence(marks, language);
            }
        }
    }

    /// Decides that everything up to this character belongs to no call.
    fn decide(&mut self, c: char) {
        if !c.is_whitespace() {
            self.words = self.all.len();
        }
        if c == '\n' {
            self.line = Line::Begin(String::new());
        }
    }

    /// Decides about a line by its beginning.
    fn begin(&mut self, start: String, c: char) {
        let is_json = start.starts_with(['{', '[']) && self.is_first();
        if start.starts_with(OPEN) || is_json {
            self.held = true;
        } else if start == FENCE {
            self.line = Line::Fence(FENCE.len(), String::new());
        } else if OPEN.starts_with(&start) || FENCE.starts_with(&start) {
            self.line = Line::Begin(start);
        } else {
            self.decide(c);
        }
    }

    /// Returns whether JSON here would begin the whole text, and so may be a call.
    fn is_first(&self) -> bool {
        self.mode == FilterMode::TextTools && self.words == 0
    }

    /// Handles a complete line that opens a fence.
    fn open(&mut self, marks: usize, language: &str) {
        let is_call = match language.trim().to_ascii_lowercase().as_str() {
            "tool_call" | "tool_calls" => self.mode == FilterMode::TextTools,
            "json" | "" => self.is_first(),
            _ => false,
        };
        if is_call {
            self.held = true;
        } else {
            self.fence = marks;
            self.words = self.all.trim_end().len();
            self.decide('\n');
        }
    }

    /// Shows everything inside a fence; a line of only marks may close it.
    fn inside_fence(&mut self, mut start: String, c: char) {
        self.decide(c);
        if c == '`' && !start.ends_with(' ') {
            start.push(c);
        } else if !c.is_whitespace() {
            return;
        } else if !start.is_empty() && !start.ends_with(' ') {
            start.push(' ');
        }
        self.line = Line::Begin(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The text shown before the end, and all of it.
    fn shown(mode: FilterMode, text: &str, cut: usize) -> (String, String) {
        let mut filter = TextFilter::new(mode);
        let mut pieces = String::new();
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(cut.max(1)) {
            pieces.push_str(&filter.push(&piece.iter().collect::<String>()));
        }
        assert_eq!(pieces, filter.shown());
        let early = pieces.clone();
        pieces.push_str(&filter.flush().text);
        assert_eq!(pieces, filter.shown());
        (early, pieces)
    }

    fn check(mode: FilterMode, text: &str, early: &str, whole: &str) {
        for cut in [1, 2, 5, 1000] {
            let got = shown(mode, text, cut);
            assert_eq!((got.0.as_str(), got.1.as_str()), (early, whole), "{text:?} by {cut}");
        }
    }

    const CALL: &str = "<tool_call>\n{\"name\":\"f\",\"arguments\":{}}\n</tool_call>";

    #[test]
    fn words_come_at_once_and_calls_never() {
        use FilterMode::TextTools as T;
        check(T, " Let me look. \n", "Let me look.", "Let me look.");
        check(T, &format!("Let me look.\n{CALL}"), "Let me look.", "Let me look.");
        check(T, &format!("{CALL}{CALL}"), "", "");
        check(T, &format!("  {CALL}\nDone."), "", "Done.");
        check(T, "a < b\n<tool_x> is none", "a < b\n<tool_x> is none", "a < b\n<tool_x> is none");
        check(T, "a\n<tool", "a", "a\n<tool");
        check(T, "{\"name\":\"f\",\"arguments\":{}}", "", "");
        check(T, "{\"answer\":1}", "", "{\"answer\":1}");
        check(T, "See:\n{\"a\":1}", "See:\n{\"a\":1}", "See:\n{\"a\":1}");
        check(T, "```json\n{\"a\":1}\n```", "", "```json\n{\"a\":1}\n```");
        check(T, "```rust\nx\n```\nok", "```rust\nx\n```\nok", "```rust\nx\n```\nok");
        let quoted = format!("So:\n```xml\n{CALL}\n```\nThat.");
        check(T, &quoted, &quoted, &quoted);
    }

    #[test]
    fn native_text_is_verbatim_but_for_left_over_tags() {
        check(FilterMode::Tagged, " a \n\n", " a", " a \n\n");
        check(FilterMode::Tagged, "{\"a\":1}", "{\"a\":1}", "{\"a\":1}");
        check(
            FilterMode::Tagged,
            &format!("So. {CALL}"),
            &format!("So. {CALL}"),
            &format!("So. {CALL}"),
        );
        check(FilterMode::Tagged, &format!("So.\n{CALL}\n"), "So.", "So.");
        check(FilterMode::Plain, CALL, CALL, CALL);
        let mut filter = TextFilter::new(FilterMode::Tagged);
        filter.push(CALL);
        filter.native_calls();
        assert_eq!(filter.flush().text, CALL, "beside native calls the tag is only text");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        /// For any text, the shown text is the text of the turn.
        #[test]
        fn the_text_of_the_turn_is_shown(
            parts in prop::collection::vec(prop::sample::select(vec![
                "<tool_call>", "</tool_call>", "{\"name\":\"f\",\"arguments\":{}}", "```", "```json", "```tool_call", "````", "\n", " ",
                "word", "é", "<", "{", "[", "`", "\n\n", "\u{a0}",
            ]), 0..14),
            cut in 1usize..6,
        ) {
            let text = parts.concat();
            let (early, whole) = shown(FilterMode::TextTools, &text, cut);
            let turn = crate::text_tools::parse(&text);
            if turn.text.starts_with(&early) {
                prop_assert_eq!(whole, turn.text);
            } else {
                // White space after a call in tags may differ.
                prop_assert_eq!(early, whole);
                prop_assert!(text.contains("tool_call"));
            }
        }
    }
}
