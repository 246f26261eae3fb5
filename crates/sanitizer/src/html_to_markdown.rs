//! HTML to Markdown in linear time for any input.
//!
//! A small lexer rewrites the page into well-nested HTML of known elements, at most [`MAX_DEPTH`]
//! deep, without runs of the same inline element, in pieces of about [`PIECE`] bytes. Only this
//! HTML reaches the parser and the Markdown writer: both are recursive, their repair of broken
//! nesting and their joining of runs are quadratic (40,000 times `<b>x</b>` took 1.9 s, 10,000
//! times 0.1 s), and their tree is many times as large as the page.
#![deny(clippy::indexing_slicing)]

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use url::Url;

use super::byte_scan;
use super::hidden_html::{HtmlTag, attribute, element_end, next_tag};

/// Size above which a page is converted in pieces, split between its blocks.
const PIECE: usize = 1024 * 1024;
/// Largest piece of a page without blocks.
const LARGEST_PIECE: usize = 4 * PIECE;
/// Deepest nesting; deeper elements lose their tags, not their text.
const MAX_DEPTH: usize = 24;
/// Longest link address that is preserved, in bytes.
const MAX_HREF: usize = 2000;

/// The treatment of an element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Ends an open paragraph.
    Block,
    /// Ends with its block at the latest; not nested in itself.
    Inline,
    /// Has no content.
    Void,
    /// Part of a table, or a list item: closes its predecessor of the same kind.
    Item,
    /// Removed with its content.
    Dropped,
}

/// Returns the known elements, and their names in the output.
fn element(name: &str) -> Option<(&'static str, Kind)> {
    use Kind::{Block, Dropped, Inline, Item, Void};
    Some(match name {
        "p" | "title" | "dt" | "dd" | "figcaption" | "summary" | "address" => ("p", Block),
        "div" | "section" | "article" | "main" | "header" | "footer" | "aside" | "nav"
        | "figure" | "details" | "form" | "fieldset" | "dl" => ("div", Block),
        "h1" => ("h1", Block),
        "h2" => ("h2", Block),
        "h3" => ("h3", Block),
        "h4" => ("h4", Block),
        "h5" => ("h5", Block),
        "h6" => ("h6", Block),
        "ul" | "menu" => ("ul", Block),
        "ol" => ("ol", Block),
        "blockquote" => ("blockquote", Block),
        "pre" => ("pre", Block),
        "table" => ("table", Block),
        "li" => ("li", Item),
        "tr" => ("tr", Item),
        "td" => ("td", Item),
        "th" => ("th", Item),
        "a" => ("a", Inline),
        "b" | "strong" => ("strong", Inline),
        "i" | "em" => ("em", Inline),
        "code" | "kbd" | "samp" | "tt" => ("code", Inline),
        "br" => ("br", Void),
        "hr" => ("hr", Void),
        "img" => ("img", Void),
        "script" | "style" | "template" | "noscript" | "iframe" | "object" | "svg" | "math"
        | "select" | "canvas" | "audio" | "video" | "textarea" | "xmp" | "noembed" | "noframes" => {
            ("", Dropped)
        }
        _ => return None,
    })
}

/// The treatment of the addresses of links and images.
#[derive(Debug, Clone, Copy)]
pub enum Links<'u> {
    /// They stay unchanged, so that dangerous ones can be flagged.
    AsWritten,
    /// They are resolved against the address of the page; only HTTP(S) and mail addresses stay.
    Web(Option<&'u Url>),
}

/// Converts a page to Markdown, including hidden text unless
/// [`without_hidden`](crate::without_hidden) removed it first.
///
/// ```
/// use toolcrib_sanitizer::{Links, html_to_markdown};
///
/// let page = "<h1>Oats</h1><p>A <b>good</b> grain.<script>track()</script>";
/// assert_eq!(html_to_markdown(page, Links::Web(None)), "# Oats\n\nA **good** grain.");
/// ```
#[must_use]
pub fn html_to_markdown(html: &str, links: Links<'_>) -> String {
    let pieces = flatten(html, links);
    pieces.into_iter().map(convert).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Converts a piece; one that the converter cannot convert stays HTML.
fn convert(piece: String) -> String {
    let converter = htmd::HtmlToMarkdown::builder().build();
    match catch_unwind(AssertUnwindSafe(|| converter.convert(&piece))) {
        Ok(Ok(markdown)) => markdown,
        _ => piece,
    }
}

/// Rewrites the page to simple, well-nested HTML.
fn flatten(html: &str, links: Links<'_>) -> Vec<String> {
    let (out, stack, pieces) = (String::new(), Vec::new(), Vec::new());
    let mut page = HtmlFlattener { links, out, stack, pieces };
    page.run(html);
    page.pieces
}

struct HtmlFlattener<'a> {
    links: Links<'a>,
    out: String,
    stack: Vec<(&'static str, Kind)>,
    /// Finished pieces before `out`.
    pieces: Vec<String>,
}

impl HtmlFlattener<'_> {
    fn run(&mut self, html: &str) {
        let mut at = 0;
        while let Some(tag) = next_tag(html, at) {
            self.text(html.get(at..tag.start).unwrap_or_default());
            at = self.tag(html, &tag);
            if self.out.len() > LARGEST_PIECE {
                self.end_piece();
            }
        }
        self.text(byte_scan::text_from(html, at));
        while !self.stack.is_empty() {
            self.pop();
        }
        self.end_piece();
    }

    /// Handles text between tags; removes comments and declarations from it.
    fn text(&mut self, mut text: &str) {
        while let Some((before, rest)) = text.split_once('<') {
            self.out.push_str(before);
            let end = match rest {
                rest if rest.starts_with("!--") => "-->",
                rest if rest.starts_with(['!', '?']) => ">",
                rest => {
                    self.out.push_str("&lt;");
                    text = rest;
                    continue;
                }
            };
            text = rest.split_once(end).map_or("", |(_, after)| after);
        }
        self.out.push_str(text);
    }

    /// Handles a tag; returns the position at which to continue.
    fn tag(&mut self, html: &str, tag: &HtmlTag<'_>) -> usize {
        let lower = tag.name.to_ascii_lowercase();
        match element(&lower) {
            Some((_, Kind::Dropped)) if !tag.is_end && !tag.attributes.ends_with('/') => {
                return element_end(html, tag);
            }
            None | Some((_, Kind::Dropped)) => {}
            Some((name, Kind::Void)) => self.void(name, tag),
            Some((name, kind)) if tag.is_end => self.end(name, kind),
            Some((name, kind)) => self.start(name, kind, tag),
        }
        tag.end
    }

    /// Ends a piece: closes the open elements and reopens them in the next one.
    fn end_piece(&mut self) {
        let open = std::mem::take(&mut self.stack);
        for (name, _) in open.iter().rev() {
            self.close_tag(name);
        }
        self.pieces.push(std::mem::take(&mut self.out));
        // A link continues as its text.
        self.stack = open.into_iter().filter(|(name, _)| *name != "a").collect();
        for (name, _) in &self.stack {
            let _ = write!(self.out, "<{name}>");
        }
    }

    fn void(&mut self, name: &str, tag: &HtmlTag<'_>) {
        match name {
            "img" => {
                let alt = attribute(tag.attributes, "alt").unwrap_or_default().trim();
                let src = attribute(tag.attributes, "src").and_then(|src| self.address(src));
                if let Some(src) = src {
                    let (src, alt) = (quoted(&src), quoted(alt));
                    // Writing to a `String` cannot fail.
                    let _ = write!(self.out, "<img src=\"{src}\" alt=\"{alt}\">");
                } else if !alt.is_empty() {
                    // Readers of the page do not see this text, so it is labelled.
                    self.text(&format!("(image: {alt})"));
                }
            }
            "hr" => {
                self.close_paragraph();
                self.out.push_str("<hr>");
            }
            _ => self.out.push_str("<br>"),
        }
    }

    fn start(&mut self, name: &'static str, kind: Kind, tag: &HtmlTag<'_>) {
        match kind {
            Kind::Block => {
                self.close_paragraph();
                if self.out.len() > PIECE {
                    self.end_piece();
                }
            }
            Kind::Item => self.close_alike(name),
            _ => {}
        }
        let repeated = kind == Kind::Inline && self.stack.iter().any(|(open, _)| *open == name);
        if repeated || self.stack.len() >= MAX_DEPTH {
            return;
        }
        let href = (name == "a").then(|| attribute(tag.attributes, "href")).flatten();
        match href.and_then(|href| self.address(href)) {
            Some(href) => {
                let _ = write!(self.out, "<a href=\"{}\">", quoted(&href));
            }
            // A link without a usable address becomes its text.
            None if name == "a" => return,
            None if kind == Kind::Inline && self.reopen(name) => {}
            None => {
                let _ = write!(self.out, "<{name}>");
            }
        }
        self.stack.push((name, kind));
        if name == "pre" {
            // The converter fences a `<pre>` only if it contains `<code>`.
            self.out.push_str("<code>");
            self.stack.push(("code", Kind::Inline));
        }
    }

    /// Removes an end tag of the same inline element directly before: adjacent elements are merged.
    fn reopen(&mut self, name: &str) -> bool {
        let rest = self.out.strip_suffix('>').and_then(|rest| rest.strip_suffix(name));
        let rest = rest.and_then(|rest| rest.strip_suffix("</")).map(str::len);
        rest.inspect(|length| self.out.truncate(*length)).is_some()
    }

    /// Closes an element that is open in the same block, cell or item.
    fn end(&mut self, name: &'static str, kind: Kind) {
        let barrier = |open: &str, open_kind: Kind| match kind {
            Kind::Inline => open_kind != Kind::Inline,
            Kind::Item => open == "table" || open == "ul" || open == "ol",
            _ => matches!(open, "td" | "th") && name != "table",
        };
        let found = self
            .stack
            .iter()
            .rev()
            .take_while(|(open, kind)| *open == name || !barrier(open, *kind))
            .position(|(open, _)| *open == name);
        for _ in 0..found.map_or(0, |above| above + 1) {
            self.pop();
        }
    }

    /// Ends an open paragraph before a block.
    fn close_paragraph(&mut self) {
        let open = self
            .stack
            .iter()
            .rposition(|(name, _)| matches!(*name, "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6"));
        let cell = self.stack.iter().rposition(|(_, kind)| *kind == Kind::Item);
        if let Some(at) = open.filter(|at| cell.is_none_or(|cell| cell < *at)) {
            while self.stack.len() > at {
                self.pop();
            }
        }
    }

    /// Ends the previous list item, cell or row before the next one.
    fn close_alike(&mut self, name: &str) {
        let like: &[&str] = match name {
            "li" => &["li"],
            "tr" => &["td", "th", "tr"],
            _ => &["td", "th"],
        };
        let list = self.stack.iter().rposition(|(n, _)| matches!(*n, "ul" | "ol" | "table"));
        let from = list.map_or(0, |list| list + 1);
        let open = self.stack.iter().skip(from).position(|(open, _)| like.contains(open));
        if let Some(at) = open {
            while self.stack.len() > from + at {
                self.pop();
            }
        }
    }

    fn pop(&mut self) {
        if let Some((name, _)) = self.stack.pop() {
            self.close_tag(name);
        }
    }

    fn close_tag(&mut self, name: &str) {
        let _ = write!(self.out, "</{name}>");
    }

    /// Returns the address of a link or image; `None` if it has none that stays.
    fn address(&self, text: &str) -> Option<String> {
        let Links::Web(base) = self.links else { return Some(text.to_owned()) };
        let text = text.trim().replace("&amp;", "&");
        if text.is_empty() || text.starts_with('#') || text.len() > MAX_HREF {
            return None;
        }
        let url = match base {
            Some(base) => base.join(&text).ok()?,
            None => match Url::parse(&text) {
                Ok(url) => url,
                Err(_) => return Some(text),
            },
        };
        matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.to_string())
    }
}

/// Returns a value in double quotes.
fn quoted(value: &str) -> String {
    value.replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, expected: &str) {
        let base = Url::parse("https://example.com/a/b").expect("base");
        let markdown = html_to_markdown(html, Links::Web(Some(&base)));
        assert_eq!(markdown.trim(), expected, "{html}");
    }

    #[test]
    fn pages_become_markdown() {
        check("<h1>Title</h1><p>One <b>two</b> <i>three</i></p>", "# Title\n\nOne **two** *three*");
        check("<ul><li>a<li>b</ul>", "*   a\n*   b");
        check("<p><a href='c?x=1&amp;y=2'>link</a>", "[link](https://example.com/a/c?x=1&y=2)");
        check("<a href='javascript:alert(1)'>text</a>", "text");
        check("<script>if (a < b) x()</script>after<style>p{}</style>", "after");
        check("a<svg><svg></svg><text>no</text></svg>b", "ab");
        check("<!-- <b> --><!DOCTYPE html>x", "x");
        check("a<img alt='a dog' src='data:,x'>", "a(image: a dog)");
        check("1 < 2 <3 a<", "1 < 2 <3 a<");
        check("<pre>fn a() {\n    b\n}</pre>", "```\nfn a() {\n    b\n}\n```");
        check("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n| - | - |\n| 1 | 2 |");
        check("<p>unclosed <b>bold<p>next", "unclosed **bold**\n\nnext");
        check("caf&eacute; &amp; <em>&lt;tag&gt;</em>", "café & *\\<tag>*");
    }

    #[test]
    fn hostile_pages_stay_linear_and_flat() {
        for piece in [
            "<div>",
            "<b>",
            "<font a=1>",
            "<p><b>",
            "</p>",
            "<a href='",
            "<!--",
            "<svg>",
            "<li>",
            "<",
            "<table><tr><td>",
            "<i><p>",
            "<x y=\"",
            "</b>",
            "<select>",
            "<b><a href=x><i>",
        ] {
            let html = piece.repeat(64 * 1024 / piece.len());
            let plain = flatten(&html, Links::Web(None)).concat();
            assert!(plain.len() <= 6 * html.len(), "{piece}");
            let deepest = plain.split('<').fold((0_usize, 0_usize), |(depth, most), tag| {
                let depth = if tag.starts_with('/') {
                    depth.saturating_sub(1)
                } else if tag.is_empty() || ["br", "hr", "img"].iter().any(|v| tag.starts_with(v)) {
                    depth
                } else {
                    depth + 1
                };
                (depth, most.max(depth))
            });
            assert!(deepest.1 <= MAX_DEPTH + 2, "{piece}: {}", deepest.1);
        }
    }

    #[test]
    fn deep_pages_do_not_exhaust_the_stack() {
        let html = "<blockquote><ul><li><b>x".repeat(20_000);
        let small = std::thread::Builder::new().stack_size(1024 * 1024);
        let text = small.spawn(move || html_to_markdown(&html, Links::AsWritten)).unwrap();
        assert!(text.join().unwrap().contains('x'));
    }

    #[test]
    fn neighbours_of_one_kind_are_one_element_so_that_runs_stay_linear() {
        check("<b>a</b><b>b</b><i>c</i><i>d</i> <b>e</b>", "**ab***cd* **e**");
        check("<code>a</code><code>b</code>", "`ab`");
        let run = flatten(&"<b>x</b>".repeat(1_000), Links::AsWritten).concat();
        assert_eq!(run, format!("<strong>{}</strong>", "x".repeat(1_000)));
    }

    #[test]
    fn large_pages_are_converted_in_pieces() {
        let blocks = "<p>one <a href='x'>two</a>".repeat(PIECE / 24);
        let pieces = flatten(&blocks, Links::AsWritten);
        assert!(pieces.len() == 2 && pieces.iter().all(|piece| piece.len() < PIECE + 100));
        let markdown = html_to_markdown(&blocks, Links::AsWritten);
        assert_eq!(markdown.split("\n\n").count(), PIECE / 24);
        assert!(markdown.split("\n\n").all(|block| block == "one [two](x)"));
        let inline = format!("<ul><li>{}", "<i>x</i>y ".repeat(LARGEST_PIECE / 5));
        let pieces = flatten(&inline, Links::AsWritten);
        assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.starts_with("<ul><li>")));
        assert!(pieces.iter().all(|piece| piece.len() < LARGEST_PIECE + 100));
    }

    #[test]
    fn addresses_stay_as_written_where_they_are_flagged() {
        for (html, markdown) in [
            ("<a href=\"javascript:a\">x</a>", "[x](javascript:a)"),
            ("<img src='data:,x' alt=y>", "![y](data:,x)"),
            ("<head><title>T</title></head><body>b</body>", "T\n\nb"),
            ("<p>a</p><!-- hidden --><template>t</template><noscript>n</noscript>", "a"),
        ] {
            assert_eq!(html_to_markdown(html, Links::AsWritten), markdown, "{html}");
        }
    }
}
