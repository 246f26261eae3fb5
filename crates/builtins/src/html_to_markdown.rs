//! HTML to Markdown in linear time for any input.
//!
//! Elements that the page hides are left out. A small lexer then rewrites the page into well-nested
//! HTML of known elements, at most [`MAX_DEPTH`] deep. Only that reaches the parser and the
//! Markdown writer: both recurse, and their repair of broken nesting is quadratic.
#![deny(clippy::indexing_slicing)]

use std::fmt::Write as _;

use url::Url;

/// Deepest nesting; deeper elements lose their tags, not their text.
const MAX_DEPTH: usize = 24;
/// Longest link address that is kept, in bytes.
const MAX_HREF: usize = 2000;

/// How an element is treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Ends an open paragraph.
    Block,
    /// Closes at the latest with its block; not nested in itself.
    Inline,
    /// Has no content.
    Void,
    /// Part of a table, or a list item: closes its predecessor of the same kind.
    Item,
    /// Dropped with its content.
    Dropped,
    /// Dropped with its content, which is not markup.
    Raw,
}

/// The known elements, and the name in the output.
fn element(name: &str) -> Option<(&'static str, Kind)> {
    use Kind::{Block, Dropped, Inline, Item, Raw, Void};
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
        "svg" | "math" | "template" | "noscript" | "object" | "select" | "canvas" | "audio"
        | "video" => (dropped_name(name), Dropped),
        "script" | "style" | "iframe" | "textarea" | "xmp" | "noembed" | "noframes"
        | "plaintext" => (dropped_name(name), Raw),
        _ => return None,
    })
}

fn dropped_name(name: &str) -> &'static str {
    const NAMES: &[&str] = &[
        "svg",
        "math",
        "template",
        "noscript",
        "object",
        "select",
        "canvas",
        "audio",
        "video",
        "script",
        "style",
        "iframe",
        "textarea",
        "xmp",
        "noembed",
        "noframes",
        "plaintext",
    ];
    NAMES.iter().find(|known| **known == name).copied().unwrap_or_default()
}

/// Converts the text that a page shows to Markdown; resolves addresses against `base`.
///
/// # Errors
/// Those of the converter; the rewritten page never causes one.
pub(crate) fn to_markdown(html: &str, base: Option<&Url>) -> Result<String, std::io::Error> {
    let shown = toolcrib_sanitizer::without_hidden(html);
    htmd::HtmlToMarkdown::builder().build().convert(&flatten(&shown.html, base))
}

/// Rewrites the page to plain, well-nested HTML.
fn flatten(html: &str, base: Option<&Url>) -> String {
    let lower = html.to_ascii_lowercase();
    let last_end = html.rfind('>').unwrap_or(0);
    let (out, stack) = (String::new(), Vec::new());
    let mut page = HtmlFlattener { html, lower: &lower, at: 0, last_end, base, out, stack };
    page.run();
    page.out
}

struct HtmlFlattener<'a> {
    html: &'a str,
    lower: &'a str,
    at: usize,
    /// Position of the last `>`: no tag can begin after it, which keeps the search linear.
    last_end: usize,
    base: Option<&'a Url>,
    out: String,
    stack: Vec<(&'static str, Kind)>,
}

/// A tag as written in the page.
struct Tag<'a> {
    name: &'a str,
    attributes: &'a str,
    closing: bool,
    self_closing: bool,
}

impl<'a> HtmlFlattener<'a> {
    fn run(&mut self) {
        while let Some(rest) = self.html.get(self.at..).filter(|rest| !rest.is_empty()) {
            let Some(open) = rest.find('<') else {
                self.text(rest);
                break;
            };
            self.text(rest.get(..open).unwrap_or_default());
            self.at += open;
            self.markup();
        }
        while let Some((name, _)) = self.stack.pop() {
            self.close_tag(name);
        }
    }

    /// At a `<`: a tag, a comment, or a literal character.
    fn markup(&mut self) {
        let rest = self.html.get(self.at..).unwrap_or_default();
        if rest.starts_with("<!--") {
            self.skip_past("-->", 4);
        } else if rest.starts_with("<!") || rest.starts_with("<?") {
            self.skip_past(">", 2);
        } else if let Some((tag, length)) = (self.at < self.last_end).then(|| tag(rest)).flatten() {
            self.at += length;
            self.tag(&tag);
        } else {
            self.at += 1;
            self.text("<");
        }
    }

    fn skip_past(&mut self, end: &str, from: usize) {
        let rest = self.html.get(self.at + from..).unwrap_or_default();
        self.at = match rest.find(end) {
            Some(found) => self.at + from + found + end.len(),
            None => self.html.len(),
        };
    }

    fn text(&mut self, text: &str) {
        if !text.contains('<') {
            self.out.push_str(text);
        } else {
            self.out.push_str(&text.replace('<', "&lt;"));
        }
    }

    fn tag(&mut self, tag: &Tag<'a>) {
        let lower = tag.name.to_ascii_lowercase();
        let Some((name, kind)) = element(&lower) else { return };
        match kind {
            Kind::Raw if !tag.closing => self.drop_raw(name),
            Kind::Dropped if !tag.closing && !tag.self_closing => self.drop_element(name),
            Kind::Raw | Kind::Dropped => {}
            Kind::Void => self.void(name, tag),
            _ if tag.closing => self.end(name, kind),
            _ => self.start(name, kind, tag),
        }
    }

    /// Skips to the end tag of an element whose content is not markup.
    fn drop_raw(&mut self, name: &str) {
        let rest = self.lower.get(self.at..).unwrap_or_default();
        self.at = match rest.find(&format!("</{name}")) {
            Some(found) if name != "plaintext" => self.at + found,
            _ => self.html.len(),
        };
    }

    /// Skips to the end of an element, including nested elements of the same name.
    fn drop_element(&mut self, name: &str) {
        let (open, close) = (format!("<{name}"), format!("</{name}"));
        let mut depth = 1_usize;
        while depth > 0 {
            let rest = self.lower.get(self.at..).unwrap_or_default();
            let Some(found) = rest.find(&close) else {
                self.at = self.html.len();
                return;
            };
            depth += rest.get(..found).unwrap_or_default().matches(&open).count();
            depth -= 1;
            // The lexer drops the last end tag itself.
            self.at += if depth == 0 { found } else { found + close.len() };
        }
    }

    fn void(&mut self, name: &str, tag: &Tag<'_>) {
        match name {
            "img" => {
                let alt = attribute(tag.attributes, "alt").unwrap_or_default().trim();
                let src = attribute(tag.attributes, "src").and_then(|src| self.address(src));
                if let Some(src) = src {
                    let (src, alt) = (quoted(&src), quoted(alt));
                    // Writing to a `String` cannot fail.
                    let _ = write!(self.out, "<img src=\"{src}\" alt=\"{alt}\">");
                } else if !alt.is_empty() {
                    // Readers of the page do not see this text, so it is marked.
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

    fn start(&mut self, name: &'static str, kind: Kind, tag: &Tag<'_>) {
        match kind {
            Kind::Block => self.close_paragraph(),
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
            None => {
                let _ = write!(self.out, "<{name}>");
            }
        }
        self.stack.push((name, kind));
        if name == "pre" {
            // The converter fences `<pre>` only around `<code>`.
            self.out.push_str("<code>");
            self.stack.push(("code", Kind::Inline));
        }
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

    /// A block ends the paragraph around it.
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

    /// A list item ends the previous item, a cell the previous cell, a row the previous row.
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

    /// An absolute address of a link or image; only HTTP(S) and mail addresses are kept.
    fn address(&self, text: &str) -> Option<String> {
        let text = text.trim().replace("&amp;", "&");
        if text.is_empty() || text.starts_with('#') || text.len() > MAX_HREF {
            return None;
        }
        let url = match self.base {
            Some(base) => base.join(&text).ok()?,
            None => match Url::parse(&text) {
                Ok(url) => url,
                Err(_) => return Some(text),
            },
        };
        matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.to_string())
    }
}

/// The tag at the start of a text, and its length; `None` if no tag begins here.
fn tag(text: &str) -> Option<(Tag<'_>, usize)> {
    let after = text.strip_prefix('<')?;
    let (closing, body) = match after.strip_prefix('/') {
        Some(body) => (true, body),
        None => (false, after),
    };
    if !body.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let name_end = body.find(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/')?;
    let (name, rest) = body.split_at_checked(name_end)?;
    let end = tag_end(rest)?;
    let attributes = rest.get(..end)?;
    let length = text.len() - rest.len() + end + 1;
    let self_closing = attributes.ends_with('/');
    Some((Tag { name, attributes, closing, self_closing }, length))
}

/// Position of the `>` that ends a tag, outside quotes. An unclosed quote ends the tag at its first
/// `>`.
fn tag_end(rest: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            // No real tag is this long; the limit keeps unclosed tags from scanning the whole page.
            _ if at > 100_000 => break,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    rest.find('>')
}

/// The raw value of an attribute.
fn attribute<'t>(attributes: &'t str, wanted: &str) -> Option<&'t str> {
    let blank = |c: char| c.is_ascii_whitespace() || c == '/';
    let mut rest = attributes.trim_start_matches(blank);
    while !rest.is_empty() {
        let end = rest.find(|c: char| blank(c) || c == '=').unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end)?;
        let after = after.trim_start();
        let Some(value) = after.strip_prefix('=') else {
            rest = after.trim_start_matches(blank);
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value.get(1..)?.split_once(quote)?,
            _ => value.split_at_checked(
                value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len()),
            )?,
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = after.trim_start_matches(blank);
    }
    None
}

/// A value in double quotes.
fn quoted(value: &str) -> String {
    value.replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, expected: &str) {
        let base = Url::parse("https://example.com/a/b").expect("base");
        let markdown = to_markdown(html, Some(&base)).expect("markdown");
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
        check("<p>a<span style='display:none'>b <b>c</b></span></p>", "a");
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
            let plain = flatten(&html, None);
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
        assert!(to_markdown(&html, None).expect("markdown").contains('x'));
    }
}
