//! Which of the model's text is shown at once, and which may turn out to be a call.
//!
//! Calls in text begin at the start of a line ([`crate::text`] has the rules). The text before the first place where one may begin is shown as it
//! comes; the rest is held back until the text is complete. What is shown is always a beginning of what the turn will have as its text, but
//! for blanks at its ends.
#![deny(clippy::indexing_slicing)]

use crate::text::{self, Found};

const OPEN: &str = "<tool_call>";
const FENCE: &str = "```";
/// Times that the text is judged: it is read from its beginning, and a server may say "the end" again and again.
const JUDGMENTS: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Everything is shown as it comes.
    Plain,
    /// `<tool_call>` in the text may be a call, because some servers leave it there.
    Tagged,
    /// Every form of a call in the text is one; blanks at the ends of the text do not count.
    TextTools,
}

/// Where in a line of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    /// At its beginning; what came of it so far but blanks.
    Begin(String),
    /// Inside, where nothing begins.
    Inside,
    /// Behind the marks of an opening fence: number of marks, and the language so far.
    Fence(usize, String),
}

#[derive(Debug)]
pub(super) struct Filter {
    mode: Mode,
    /// The text as it came; unused in [`Mode::Plain`].
    all: String,
    /// The text as it was shown.
    shown: String,
    /// Where the last word of `all` ends that is certainly no call; 0 = there is none yet.
    words: usize,
    /// Bytes of `all` that are shown, or never will be.
    sent: usize,
    line: Line,
    /// Marks of the fence around the text, 0 = none.
    fence: usize,
    /// Everything behind `words` waits for the end.
    held: bool,
    calls_shown: usize,
    has_native_calls: bool,
    judgments: u32,
}

/// What was held back.
#[derive(Debug, Default)]
pub(super) struct Rest {
    pub(super) text: String,
    pub(super) calls: Vec<Found>,
}

impl Filter {
    pub(super) fn new(mode: Mode) -> Self {
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

    /// The answer has calls of its own, so those in its text are words.
    pub(super) fn native_calls(&mut self) {
        self.has_native_calls = true;
    }

    /// Takes a piece; gives what can be shown.
    pub(super) fn push(&mut self, piece: &str) -> String {
        if self.mode == Mode::Plain {
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

    /// The whole text is there.
    pub(super) fn flush(&mut self) -> Rest {
        let nothing_new = self.held && self.sent == self.all.len();
        if self.mode == Mode::Plain || nothing_new || self.judgments == JUDGMENTS {
            return Rest::default();
        }
        self.judgments += 1;
        let (text, calls) = self.judge();
        let rest = match text.strip_prefix(self.shown.as_str()) {
            Some(rest) => rest.to_owned(),
            // Blanks at the beginning were shown before it was known that calls follow.
            None => text.strip_prefix(self.shown.trim_start()).unwrap_or_default().to_owned(),
        };
        self.shown.push_str(&rest);
        self.sent = self.all.len();
        self.held = true;
        let new = calls.into_iter().skip(self.calls_shown).collect::<Vec<_>>();
        self.calls_shown += new.len();
        Rest { text: rest, calls: new }
    }

    /// The text without its calls, and the calls, as the parser will see them.
    fn judge(&self) -> (String, Vec<Found>) {
        let calls = match self.mode {
            Mode::Plain => Vec::new(),
            Mode::Tagged if self.has_native_calls => Vec::new(),
            Mode::Tagged => text::tagged_calls(&self.all),
            Mode::TextTools => text::calls_in(&self.all),
        };
        let text = match self.mode {
            _ if !calls.is_empty() => text::without_calls(&self.all),
            Mode::TextTools => self.all.trim().to_owned(),
            Mode::Plain | Mode::Tagged => self.all.clone(),
        };
        (text, calls)
    }

    /// What is decided and not yet shown. Blanks wait for the next word: before a call, and at an end of the text, they do not count.
    fn take_safe(&mut self) -> String {
        let end = self.words;
        let ready = self.all.get(self.sent..end).unwrap_or_default();
        let is_first = self.mode == Mode::TextTools && self.shown.is_empty();
        let ready = if is_first { ready.trim_start() } else { ready }.to_owned();
        self.sent = self.sent.max(end);
        self.shown.push_str(&ready);
        ready
    }

    /// Takes one character, in constant time whatever came before it.
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
                // No mark of ours is longer.
                if language.len() < 40 {
                    language.push(c);
                }
                self.line = Line::Fence(marks, language);
            }
        }
    }

    /// Everything up to this character is no call.
    fn decide(&mut self, c: char) {
        if !c.is_whitespace() {
            self.words = self.all.len();
        }
        if c == '\n' {
            self.line = Line::Begin(String::new());
        }
    }

    /// Decides what a line is by how it begins.
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

    /// Whether JSON here would be the beginning of the whole text, and so may be a call.
    fn is_first(&self) -> bool {
        self.mode == Mode::TextTools && self.words == 0
    }

    /// The line that opens a fence is complete.
    fn open(&mut self, marks: usize, language: &str) {
        let is_call = match language.trim().to_ascii_lowercase().as_str() {
            "tool_call" | "tool_calls" => self.mode == Mode::TextTools,
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

    /// Inside a fence everything is shown; a line of nothing but marks may close it.
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

    /// What is shown before the end, and all that is shown.
    fn shown(mode: Mode, text: &str, cut: usize) -> (String, String) {
        let mut filter = Filter::new(mode);
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

    fn check(mode: Mode, text: &str, early: &str, whole: &str) {
        for cut in [1, 2, 5, 1000] {
            let got = shown(mode, text, cut);
            assert_eq!((got.0.as_str(), got.1.as_str()), (early, whole), "{text:?} by {cut}");
        }
    }

    const CALL: &str = "<tool_call>\n{\"name\":\"f\",\"arguments\":{}}\n</tool_call>";

    #[test]
    fn words_come_at_once_and_calls_never() {
        use Mode::TextTools as T;
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
        check(Mode::Tagged, " a \n\n", " a", " a \n\n");
        check(Mode::Tagged, "{\"a\":1}", "{\"a\":1}", "{\"a\":1}");
        check(Mode::Tagged, &format!("So. {CALL}"), &format!("So. {CALL}"), &format!("So. {CALL}"));
        check(Mode::Tagged, &format!("So.\n{CALL}\n"), "So.", "So.");
        check(Mode::Plain, CALL, CALL, CALL);
        let mut filter = Filter::new(Mode::Tagged);
        filter.push(CALL);
        filter.native_calls();
        assert_eq!(filter.flush().text, CALL, "beside native calls the tag is only text");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        /// Whatever the text is, what is shown is the text of the turn.
        #[test]
        fn the_text_of_the_turn_is_shown(
            parts in prop::collection::vec(prop::sample::select(vec![
                "<tool_call>", "</tool_call>", "{\"name\":\"f\",\"arguments\":{}}", "```", "```json", "```tool_call", "````", "\n", " ",
                "word", "é", "<", "{", "[", "`", "\n\n", "\u{a0}",
            ]), 0..14),
            cut in 1usize..6,
        ) {
            let text = parts.concat();
            let (early, whole) = shown(Mode::TextTools, &text, cut);
            let turn = crate::text::parse(&text);
            if turn.text.starts_with(&early) {
                prop_assert_eq!(whole, turn.text);
            } else {
                // Behind a call in tags the blanks between the words may differ.
                prop_assert_eq!(early, whole);
                prop_assert!(text.contains("tool_call"));
            }
        }
    }
}
