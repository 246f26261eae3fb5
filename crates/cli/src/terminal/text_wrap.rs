//! Measures and wraps text.
#![deny(clippy::indexing_slicing)]

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::style::{Style, Styler};

/// A piece of text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) style: Style,
}

impl Span {
    pub(crate) fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// Returns the width of a text in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Returns the start of a text that fits, with an ellipsis if text is omitted.
pub(crate) fn truncate_to_width(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        short.push(c);
    }
    short.push('…');
    short
}

/// Returns the end of a text that fits.
pub(crate) fn tail_of_width(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return text.get(at + c.len_utf8()..).unwrap_or_default();
        }
    }
    text
}

/// Wraps a line between words into rows of at most `columns`; `first` precedes the first row,
/// `rest` the others.
pub(crate) fn wrap(
    spans: &[Span],
    columns: usize,
    first: &[Span],
    rest: &[Span],
) -> Vec<Vec<Span>> {
    let mut rows = Rows {
        columns: columns.max(8),
        rest,
        row: first.to_vec(),
        done: Vec::new(),
        used: spans_width(first),
        is_begun: false,
    };
    for word in words(spans) {
        rows.word(word);
    }
    rows.done.push(trimmed(rows.row));
    rows.done
}

/// Converts rows to text.
pub(crate) fn encode(rows: &[Vec<Span>], paint: Styler) -> Vec<String> {
    let row = |row: &Vec<Span>| row.iter().map(|s| paint.styled(s.style, &s.text)).collect();
    rows.iter().map(row).collect()
}

/// Removes blanks at the end, in any style.
fn trimmed(mut row: Vec<Span>) -> Vec<Span> {
    while let Some(last) = row.last_mut() {
        last.text.truncate(last.text.trim_end().len());
        if !last.text.is_empty() {
            break;
        }
        row.pop();
    }
    row
}

fn spans_width(spans: &[Span]) -> usize {
    spans.iter().map(|span| span.text.width()).sum()
}

/// An unbreakable unit: a run of blanks, or letters up to the next blank, in any styles.
struct Word {
    spans: Vec<Span>,
    is_blank: bool,
}

fn words(spans: &[Span]) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for span in spans {
        for c in span.text.chars() {
            let is_blank = c == ' ' || c == '\t';
            if words.last().is_none_or(|word| word.is_blank != is_blank) {
                words.push(Word { spans: Vec::new(), is_blank });
            }
            let Some(word) = words.last_mut() else { continue };
            match word.spans.last_mut() {
                Some(last) if last.style == span.style => last.text.push(c),
                _ => word.spans.push(Span::new(c, span.style)),
            }
        }
    }
    words
}

struct Rows<'a> {
    columns: usize,
    rest: &'a [Span],
    row: Vec<Span>,
    done: Vec<Vec<Span>>,
    used: usize,
    /// Whether the row has content after its prefix.
    is_begun: bool,
}

impl Rows<'_> {
    fn word(&mut self, word: Word) {
        let width = spans_width(&word.spans);
        if word.is_blank {
            // Blanks at a break are dropped.
            if self.used + width < self.columns && (self.is_begun || self.done.is_empty()) {
                self.push(word.spans, width);
            } else if self.is_begun {
                self.used = self.columns;
            }
            return;
        }
        if self.used + width > self.columns && self.is_begun {
            self.next_row();
        }
        if self.used + width <= self.columns {
            self.push(word.spans, width);
            return;
        }
        for span in word.spans {
            for c in span.text.chars() {
                let width = c.width().unwrap_or(0);
                if self.used + width > self.columns && self.is_begun {
                    self.next_row();
                }
                self.push(vec![Span::new(c, span.style)], width);
            }
        }
    }

    fn push(&mut self, spans: Vec<Span>, width: usize) {
        self.used += width;
        self.is_begun = true;
        for span in spans {
            match self.row.last_mut() {
                Some(last) if last.style == span.style => last.text.push_str(&span.text),
                _ => self.row.push(span),
            }
        }
    }

    fn next_row(&mut self) {
        let next = self.rest.to_vec();
        self.used = spans_width(&next);
        self.is_begun = false;
        self.done.push(trimmed(std::mem::replace(&mut self.row, next)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, columns: usize, expected: &[&str]) {
        let spans = [Span::new(text, Style::PLAIN)];
        let rest = [Span::new("  ", Style::PLAIN)];
        let rows = encode(&wrap(&spans, columns, &[], &rest), Styler { colour: false });
        assert_eq!(rows, expected);
    }

    #[test]
    fn lines_break_between_words_and_only_words_that_are_too_long_inside() {
        check("one two three", 20, &["one two three"]);
        check("one two three", 9, &["one two", "  three"]);
        check("one two", 8, &["one two"]);
        check("abcdefghijklmnop", 8, &["abcdefgh", "  ijklmn", "  op"]);
        check("日本語の文です", 8, &["日本語の", "  文です"]);
        check("", 8, &[""]);
    }

    #[test]
    fn what_does_not_fit_is_shortened_by_columns() {
        assert_eq!(truncate_to_width("abcdef", 6), "abcdef");
        assert_eq!(truncate_to_width("abcdefg", 6), "abcde…");
        assert_eq!(truncate_to_width("日本語", 4), "日…");
        assert_eq!(tail_of_width("abcdef", 3), "def");
        assert_eq!(tail_of_width("日本語", 4), "本語");
    }
}
