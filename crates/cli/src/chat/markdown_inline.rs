//! Styles the text of a Markdown line.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::terminal::{Span, Style, escape_controls};

/// Prefix that makes the parser read a line as a paragraph; it is removed again.
const BEFORE: &str = "a ";

/// Returns the spans of a line; `base` is the base style of all of them.
pub(super) fn spans(line: &str, base: Style) -> Vec<Span> {
    let text = format!("{BEFORE}{line}");
    let mut spans =
        Spans { done: Vec::new(), styles: vec![base], links: Vec::new(), skip: BEFORE.len() };
    for event in Parser::new_ext(&text, Options::ENABLE_STRIKETHROUGH) {
        spans.event(event);
    }
    spans.done
}

struct Spans {
    done: Vec<Span>,
    /// The open styles; the newest applies.
    styles: Vec<Style>,
    /// The target of each open link, and the start of its text in the spans.
    links: Vec<(String, usize)>,
    /// Number of bytes that still have to be removed.
    skip: usize,
}

impl Spans {
    fn event(&mut self, event: Event<'_>) {
        let style = self.styles.last().copied().unwrap_or_default();
        match event {
            Event::Start(Tag::Emphasis) => self.styles.push(Style { italic: true, ..style }),
            Event::Start(Tag::Strong) => self.styles.push(Style { bold: true, ..style }),
            Event::Start(Tag::Strikethrough) => self.styles.push(Style { strike: true, ..style }),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                self.links.push((dest_url.into_string(), self.done.len()));
                self.styles.push(Style { underline: true, ..style });
            }
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough) => {
                self.styles.pop();
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                self.styles.pop();
                self.end_link();
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                let skip = std::mem::take(&mut self.skip).min(text.len());
                self.push(text.get(skip..).unwrap_or_default(), style);
            }
            Event::Code(code) => self.push(&code, Style { colour: Some(36), ..style }),
            Event::SoftBreak | Event::HardBreak => self.push(" ", style),
            _ => {}
        }
    }

    /// Shows the target of a link, unless its text is the target.
    fn end_link(&mut self) {
        let Some((target, from)) = self.links.pop() else { return };
        let words: String = self.done.iter().skip(from).map(|span| span.text.as_str()).collect();
        if words != target {
            self.push(&format!(" ({target})"), Style::DIM);
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        let text = escape_controls(text);
        if !text.is_empty() {
            self.done.push(Span::new(text, style));
        }
    }
}
