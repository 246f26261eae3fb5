//! Renders Markdown for a terminal, line by line as it arrives: a finished line is rendered once
//! and never changed, and an unfinished one can be previewed.
//!
//! The form of a line depends only on the lines before it, so the pieces in which a text arrives do
//! not matter. Without colors, the source is printed unchanged.

use crate::terminal::{Span, Style, Styler, encode, escape_controls, tail_of_width, wrap};

use super::markdown_inline;

/// Maximum length in bytes of an unfinished line that is rendered: a long paragraph.
const PREVIEWED: usize = 16 * 1024;

/// An open code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
}

/// Renders one text.
#[derive(Debug)]
pub(crate) struct Markdown {
    paint: Styler,
    columns: usize,
    /// The unfinished line.
    line: String,
    fence: Option<Fence>,
}

impl Markdown {
    pub(crate) fn new(paint: Styler, columns: usize) -> Self {
        Self { paint, columns, line: String::new(), fence: None }
    }

    /// Changes the width from the next line on.
    pub(crate) fn resize(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// Adds the next piece; returns the lines that it finishes.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut finished = String::new();
        let mut rest = piece;
        while let Some((head, tail)) = rest.split_once('\n') {
            self.line.push_str(head);
            finished += &self.end_line();
            rest = tail;
        }
        self.line.push_str(rest);
        finished
    }

    /// Returns the rows of the unfinished line, rendered as if it ended here.
    pub(crate) fn preview(&self) -> Vec<String> {
        if self.line.is_empty() {
            return Vec::new();
        }
        if self.line.len() > PREVIEWED {
            // Each piece renders the line again: a line of a megabyte would be rendered a thousand
            // times.
            let end = self.line.len() - PREVIEWED;
            let end = (end..).find(|&at| self.line.is_char_boundary(at)).unwrap_or(end);
            let end = escape_controls(self.line.get(end..).unwrap_or_default());
            return vec![tail_of_width(&end, self.columns).to_owned()];
        }
        self.render(&self.line).0
    }

    /// Ends the text: returns the rendered rest, and resets the state.
    pub(crate) fn finish(&mut self) -> String {
        let rest = if self.line.is_empty() { String::new() } else { self.end_line() };
        self.fence = None;
        rest
    }

    fn end_line(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        let (rows, fence) = self.render(&line);
        self.fence = fence;
        rows.iter().map(|row| format!("{row}\n")).collect()
    }

    /// Returns the rows of a line, and the code block that is open after it.
    fn render(&self, line: &str) -> (Vec<String>, Option<Fence>) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if !self.paint.colour {
            return (vec![escape_controls(line).into_owned()], None);
        }
        let mark = fence_mark(line);
        let dim = |line: &str| vec![self.paint.dim(&escape_controls(line))];
        match (self.fence, mark) {
            (Some(open), Some(mark)) if closes(open, mark, line) => (dim(line), None),
            (Some(open), _) => {
                (vec![self.paint.styled(Style::CYAN, &escape_controls(line))], Some(open))
            }
            (None, Some(mark)) => (dim(line), Some(mark)),
            (None, None) => (self.block(line), None),
        }
    }

    fn block(&self, line: &str) -> Vec<String> {
        // Rows of a table are already aligned in the source.
        if line.trim_start().starts_with('|') {
            return vec![escape_controls(line).into_owned()];
        }
        let block = Block::classify(line);
        let spans = match block.kind {
            BlockKind::Rule => vec![Span::new("─".repeat(self.columns.min(40)), Style::DIM)],
            BlockKind::Heading => {
                markdown_inline::spans(block.content, Style { bold: true, ..Style::CYAN })
            }
            BlockKind::Text => markdown_inline::spans(block.content, Style::PLAIN),
        };
        encode(&wrap(&spans, self.columns, &block.first, &block.rest), self.paint)
    }
}

/// The type of a line, from its start.
struct Block<'a> {
    kind: BlockKind,
    /// Text before its first row.
    first: Vec<Span>,
    /// Text before its other rows.
    rest: Vec<Span>,
    content: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Heading,
    Rule,
}

impl<'a> Block<'a> {
    fn classify(line: &'a str) -> Self {
        let mut block =
            Self { kind: BlockKind::Text, first: Vec::new(), rest: Vec::new(), content: line };
        while block.quote() {}
        block.indent();
        let text = block.content;
        if is_rule(text) {
            block.kind = BlockKind::Rule;
        } else if let Some(heading) = heading(text) {
            (block.kind, block.content) = (BlockKind::Heading, heading);
        } else if let Some((marker, content)) = item(text) {
            let width = crate::terminal::width(&marker);
            block.first.push(Span::new(marker, Style::CYAN));
            block.rest.push(Span::new(" ".repeat(width), Style::PLAIN));
            block.content = content;
        }
        block
    }

    fn quote(&mut self) -> bool {
        let text = self.content.trim_start_matches(' ');
        let depth = self.content.len() - text.len();
        let Some(text) = text.strip_prefix('>').filter(|_| depth < 4) else { return false };
        self.content = text.strip_prefix(' ').unwrap_or(text);
        let bar = Span::new("│ ", Style::DIM);
        self.first.push(bar.clone());
        self.rest.push(bar);
        true
    }

    fn indent(&mut self) {
        let text = self.content.trim_start_matches([' ', '\t']);
        let blanks = self.content.get(..self.content.len() - text.len()).unwrap_or_default();
        if !blanks.is_empty() {
            // Ignore an indentation so deep that no text would fit beside it.
            let blanks =
                Span::new(" ".repeat(blanks.replace('\t', "    ").len().min(24)), Style::PLAIN);
            self.first.push(blanks.clone());
            self.rest.push(blanks);
        }
        self.content = text;
    }
}

/// Returns the text of `# Heading` (CommonMark 4.2).
fn heading(text: &str) -> Option<&str> {
    let words = text.trim_start_matches('#');
    let level = text.len() - words.len();
    let is_heading =
        (1..=6).contains(&level) && (words.is_empty() || words.starts_with([' ', '\t']));
    is_heading.then(|| words.trim().trim_end_matches('#').trim_end())
}

/// Returns the printed marker and the text of `- item` or `3. item` (CommonMark 5.2).
fn item(text: &str) -> Option<(String, &str)> {
    if let Some(words) = ["- ", "* ", "+ "].iter().find_map(|marker| text.strip_prefix(marker)) {
        return Some(("• ".to_owned(), words));
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = text.get(digits..)?;
    let words = rest.strip_prefix(['.', ')'])?.strip_prefix(' ')?;
    let marker = text.get(..=digits)?;
    (1..=9).contains(&digits).then(|| (format!("{marker} "), words))
}

/// Returns whether the line is `---`, `***` or `___` (CommonMark 4.1).
fn is_rule(text: &str) -> bool {
    let mut marks = text.chars().filter(|c| !c.is_whitespace());
    let Some(first) = marks.next().filter(|c| "-*_".contains(*c)) else { return false };
    text.chars().filter(|c| *c == first).count() >= 3 && marks.all(|c| c == first)
}

/// Returns the marks of a line that opens or closes a code block (CommonMark 4.5).
fn fence_mark(line: &str) -> Option<Fence> {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|c| *c == '`' || *c == '~')?;
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
    is_fence.then_some(Fence { mark, length })
}

fn closes(open: Fence, fence: Fence, line: &str) -> bool {
    let is_bare = line.trim().chars().all(|c| c == fence.mark);
    fence.mark == open.mark && fence.length >= open.length && is_bare
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SOURCE: &str = "\
# A *big* heading

Some **bold**, _soft_, ~~gone~~ and `code **not bold**` words, with a [link](https://example.org/x) and <https://example.org>.
- one
- [x] two with words enough that they have to be broken over rows
  1. nested
> quoted *words*
> - and a list in it

```rust
fn main() { **not bold** }
# no heading
```
| a | b |
|---|---|
***
snake_case_name and 2 * 3 * 4 &#27;[2J \\*plain\\*\r
\u{1b}[31mred";

    /// Converts styles to a readable form: `{1;36:words}`.
    fn readable(text: &str) -> String {
        let text = text.replace("\u{1b}[0m", "}");
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some((head, tail)) = rest.split_once("\u{1b}[") {
            let (codes, tail) = tail.split_once('m').unwrap();
            out += &format!("{head}{{{codes}:");
            rest = tail;
        }
        out + rest
    }

    fn render(text: &str, cuts: &[usize]) -> String {
        let mut markdown = Markdown::new(Styler { colour: true }, 40);
        let mut out = String::new();
        let mut from = 0;
        for &cut in cuts.iter().chain([&text.len()]) {
            out += &markdown.push(&text[from..cut]);
            let _ = markdown.preview();
            from = cut;
        }
        out + &markdown.finish()
    }

    #[test]
    fn golden() {
        let expected = "\
{1;36:A }{1;3;36:big}{1;36: heading}

Some {1:bold}, {3:soft}, {9:gone} and {36:code **not}
{36:bold**} words, with a {4:link}
{2:(https://example.org/x)} and
{4:https://example.org}.
{36:• }one
{36:• }[x] two with words enough that they
  have to be broken over rows
  {36:1. }nested
{2:│ }quoted {3:words}
{2:│ }{36:• }and a list in it

{2:```rust}
{36:fn main() { **not bold** }}
{36:# no heading}
{2:```}
| a | b |
|---|---|
{2:────────────────────────────────────────}
snake_case_name and 2 * 3 * 4 \\u{1b}[2J
*plain*
\\u{1b}[31mred
";
        assert_eq!(readable(&render(SOURCE, &[])), expected);
    }

    #[test]
    fn the_source_is_printed_as_it_is_where_there_are_no_colours() {
        let mut markdown = Markdown::new(Styler { colour: false }, 10);
        let text = markdown.push("# A **b** \u{1b}[2J word word word\nx");
        assert_eq!(text, "# A **b** \\u{1b}[2J word word word\n");
        assert_eq!(markdown.finish(), "x\n");
        assert_eq!(markdown.finish(), "");
    }

    #[test]
    fn an_unfinished_line_is_shown_as_far_as_it_is() {
        let mut markdown = Markdown::new(Styler { colour: true }, 40);
        assert_eq!(markdown.push("a **b"), "");
        assert_eq!(markdown.preview(), ["a **b"]);
        assert_eq!(markdown.push("**"), "");
        assert_eq!(readable(&markdown.preview()[0]), "a {1:b}");
        assert_eq!(readable(&markdown.push("\n")), "a {1:b}\n");
        assert!(markdown.preview().is_empty());
    }

    #[test]
    fn split_at_any_place_it_is_the_same() {
        let whole = render(SOURCE, &[]);
        for cut in (0..SOURCE.len()).filter(|&cut| SOURCE.is_char_boundary(cut)) {
            assert_eq!(render(SOURCE, &[cut]), whole, "cut at {cut}");
        }
    }

    #[test]
    fn of_a_very_long_line_the_end_is_shown() {
        let mut markdown = Markdown::new(Styler { colour: true }, 40);
        assert_eq!(markdown.push(&"é".repeat(PREVIEWED)), "");
        assert_eq!(markdown.push("the end"), "");
        assert_eq!(markdown.preview(), [format!("{}the end", "é".repeat(33))]);
        assert_eq!(markdown.finish().matches('é').count(), PREVIEWED);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn whatever_comes_is_printed_and_moves_no_cursor(text in "[ -~\n\u{1b}\r>#*_`|~é-]{0,80}", cut in 0usize..80) {
            let cut = (0..=cut.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let out = render(&text, &[cut]);
            prop_assert_eq!(&out, &render(&text, &[]));
            let plain = readable(&out);
            prop_assert!(!plain.contains('\u{1b}') && !plain.contains('\r'), "{:?}", plain);
        }
    }
}
