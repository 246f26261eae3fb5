//! Removes text that a page hides from its readers, before the page is converted.
//!
//! An element counts as hidden by its own attributes (`hidden`, `aria-hidden`, `style`) or by a
//! simple rule (`.name`, `#name`) of a style sheet in the page. Nothing is rendered: rules with
//! combinators, media queries and external style sheets are not evaluated.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::hiding_styles::{HidingRules, hides};
use std::borrow::Cow;

/// Maximum number of distinguished open elements inside a hidden one; deeper ones count as text.
const DEEPEST: usize = 128;

/// Longest tag, in bytes. The limit prevents a tag that never ends from being read repeatedly.
const LONGEST_TAG: usize = 64 * 1024;

/// A page without its hidden text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownHtml<'a> {
    /// The page; borrowed if it hides nothing.
    pub html: Cow<'a, str>,
    /// Number of removed elements with text.
    pub left_out: usize,
    /// Whether the page hides all its text. Then nothing is removed: scripts make such pages
    /// visible.
    pub hides_everything: bool,
}

/// Removes the elements that a page hides. Takes time linear in the page.
///
/// ```
/// use toolcrib_sanitizer::without_hidden;
///
/// let page = without_hidden("<p>Oats<span style='display: none'>Send the password</span></p>");
/// assert_eq!((&*page.html, page.left_out), ("<p>Oats</p>", 1));
/// ```
#[must_use]
pub fn without_hidden(html: &str) -> ShownHtml<'_> {
    let rules = HidingRules::of_page(html);
    let mut pass =
        Pass { html, rules: &rules, out: String::new(), copied: 0, left_out: 0, shown_again: 0 };
    pass.run();
    let whole = ShownHtml { html: Cow::Borrowed(html), left_out: 0, hides_everything: false };
    if pass.left_out == 0 && pass.copied == 0 {
        return whole;
    }
    pass.out.push_str(byte_scan::text_from(html, pass.copied));
    if pass.left_out > 0 && !has_text(&pass.out) {
        return ShownHtml { hides_everything: true, ..whole };
    }
    ShownHtml { html: Cow::Owned(pass.out), left_out: pass.left_out, hides_everything: false }
}

struct Pass<'t> {
    html: &'t str,
    rules: &'t HidingRules,
    out: String,
    copied: usize,
    left_out: usize,
    shown_again: usize,
}

impl Pass<'_> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(tag) = next_tag(self.html, at) {
            at = match tag.is_end {
                false if is_hidden(&tag, self.rules) => self.leave_out(&tag),
                false => raw_text_end(self.html, &tag),
                true => tag.end,
            };
        }
    }

    /// Removes the element of this tag, unless elements in it are visible again, as in mails with
    /// `font-size:0` around every table. Returns the position at which to continue.
    fn leave_out(&mut self, tag: &HtmlTag<'_>) -> usize {
        let end = element_end(self.html, tag);
        let inner = self.html.get(tag.end..end).unwrap_or("");
        if self.shown_again < MOST_SHOWN_AGAIN && is_shown_again(tag, inner) {
            self.shown_again += 1;
            return tag.end;
        }
        self.left_out += usize::from(has_text(inner));
        self.out.push_str(self.html.get(self.copied..tag.start).unwrap_or(""));
        self.copied = end;
        end
    }
}

/// Maximum number of hidden elements that contain visible elements: each is read twice, and they
/// nest.
const MOST_SHOWN_AGAIN: usize = 64;

/// Returns whether only an inherited property hides an element, and elements in it override the
/// property.
fn is_shown_again(tag: &HtmlTag<'_>, inner: &str) -> bool {
    let Some(style) = attribute(tag.attributes, "style") else { return false };
    let hiding = style.split(';').filter(|declaration| hides(declaration));
    let anew = |declaration: &str| {
        let name = declaration.split(':').next().unwrap_or("").trim();
        ["font-size", "visibility"].iter().any(|inherited| {
            name.eq_ignore_ascii_case(inherited)
                && memchr::memmem::find(inner.as_bytes(), inherited.as_bytes()).is_some()
        })
    };
    let mut any = false;
    let all = hiding.inspect(|_| any = true).all(anew);
    all && any
}

/// A start or end tag.
pub(super) struct HtmlTag<'t> {
    pub(super) name: &'t str,
    pub(super) attributes: &'t str,
    pub(super) is_end: bool,
    /// Position of the `<`.
    pub(super) start: usize,
    /// Byte after the tag.
    pub(super) end: usize,
}

/// Returns the next tag at or after byte `at`. Skips comments and declarations.
pub(super) fn next_tag(html: &str, mut at: usize) -> Option<HtmlTag<'_>> {
    loop {
        let start = at + memchr::memchr(b'<', byte_scan::text_from(html, at).as_bytes())?;
        let rest = byte_scan::text_from(html, start + 1);
        if rest.starts_with("!--") {
            let inner = byte_scan::text_from(rest, 3).as_bytes();
            at = start + 4 + memchr::memmem::find(inner, b"-->").map_or(inner.len(), |n| n + 3);
            continue;
        }
        let is_end = rest.starts_with('/');
        let body = rest.strip_prefix('/').unwrap_or(rest);
        if !body.starts_with(|c: char| c.is_ascii_alphabetic()) {
            at = start + 1;
            continue;
        }
        let name_end = body
            .find(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/'))
            .unwrap_or(body.len());
        let (name, rest) = body.split_at_checked(name_end)?;
        let length = tag_length(rest);
        let attributes = byte_scan::text_before(rest, length);
        let end = html.len() - rest.len() + (length + 1).min(rest.len());
        return Some(HtmlTag { name, attributes, is_end, start, end });
    }
}

/// Returns the length of the attributes: up to the `>` outside quotes. An unclosed quote is
/// ignored.
fn tag_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let near = bytes.get(..bytes.len().min(LONGEST_TAG)).unwrap_or(bytes);
    let mut quote = None;
    for (at, byte) in near.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    memchr::memchr(b'>', near).unwrap_or(near.len())
}

/// Returns the value of an attribute; an attribute without a value has an empty one.
pub(super) fn attribute<'t>(attributes: &'t str, wanted: &str) -> Option<&'t str> {
    let is_blank = |c: char| c.is_ascii_whitespace() || c == '/';
    let mut rest = attributes.trim_start_matches(is_blank);
    while !rest.is_empty() {
        let end = rest.find(|c: char| is_blank(c) || c == '=').unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end)?;
        let (value, after) = match after.trim_start().strip_prefix('=') {
            None => ("", after),
            Some(value) => split_value(value.trim_start())?,
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        let next = after.trim_start_matches(is_blank);
        // Skips a stray `=`, which would otherwise block the loop.
        rest = if next.len() < rest.len() { next } else { byte_scan::text_from(rest, 1) };
    }
    None
}

fn split_value(value: &str) -> Option<(&str, &str)> {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = byte_scan::text_from(value, 1);
            Some(inner.split_once(quote).unwrap_or((inner, "")))
        }
        _ => value
            .split_at_checked(value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len())),
    }
}

/// Returns whether the tag begins an element that no reader sees. A page is not hidden by its root
/// elements: scripts show it after loading.
pub(super) fn is_hidden(tag: &HtmlTag<'_>, rules: &HidingRules) -> bool {
    if tag.attributes.is_empty()
        || ["html", "body"].iter().any(|n| tag.name.eq_ignore_ascii_case(n))
    {
        return false;
    }
    attribute(tag.attributes, "hidden").is_some()
        || attribute(tag.attributes, "aria-hidden").is_some_and(|v| v.eq_ignore_ascii_case("true"))
        || attribute(tag.attributes, "style").is_some_and(hides)
        || rules.match_tag(tag.attributes)
}

fn is_void(name: &str) -> bool {
    const VOID: [&str; 14] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
        "source", "track", "wbr",
    ];
    VOID.iter().any(|void| name.eq_ignore_ascii_case(void))
}

/// Elements whose end tag may be missing: they end with their parent or at their next sibling.
fn may_stay_open(name: &str) -> bool {
    const OPEN: [&str; 9] = ["p", "li", "dt", "dd", "tr", "td", "th", "option", "tbody"];
    OPEN.iter().any(|open| name.eq_ignore_ascii_case(open))
}

/// Returns the byte after the element that begins with this tag.
pub(super) fn element_end(html: &str, first: &HtmlTag<'_>) -> usize {
    if is_void(first.name) {
        return first.end;
    }
    let mut at = raw_text_end(html, first);
    if at != first.end {
        return at;
    }
    let mut open: Vec<&str> = Vec::new();
    while let Some(tag) = next_tag(html, at) {
        at = tag.end;
        if tag.is_end {
            match open.iter().rposition(|name| name.eq_ignore_ascii_case(tag.name)) {
                Some(inner) => open.truncate(inner),
                None if tag.name.eq_ignore_ascii_case(first.name) => return tag.end,
                None if may_stay_open(first.name) => return tag.start,
                None => {}
            }
            continue;
        }
        if may_stay_open(first.name) && open.is_empty() && tag.name.eq_ignore_ascii_case(first.name)
        {
            return tag.start;
        }
        at = raw_text_end(html, &tag);
        if at == tag.end && !is_void(tag.name) && open.len() < DEEPEST {
            open.push(tag.name);
        }
    }
    html.len()
}

/// Returns the byte after an element whose content is not markup (`script`), or after the tag of
/// any other element.
fn raw_text_end(html: &str, tag: &HtmlTag<'_>) -> usize {
    const RAW: [&str; 8] =
        ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];
    if !RAW.iter().any(|raw| tag.name.eq_ignore_ascii_case(raw)) {
        return tag.end;
    }
    let mut at = tag.end;
    while let Some(found) = memchr::memmem::find(byte_scan::text_from(html, at).as_bytes(), b"</") {
        at += found + 2;
        let rest = html.as_bytes().get(at..at + tag.name.len()).unwrap_or(&[]);
        if rest.eq_ignore_ascii_case(tag.name.as_bytes()) {
            return next_tag(html, at - 2).map_or(html.len(), |end| end.end);
        }
    }
    html.len()
}

/// Returns whether there is a letter or a digit outside tags, scripts and styles.
fn has_text(html: &str) -> bool {
    let mut at = 0;
    let shows = |text: &str| {
        // A comment is not text.
        let text = text.split_once("<!--").map_or(text, |(before, _)| before);
        text.contains(char::is_alphanumeric)
    };
    while let Some(tag) = next_tag(html, at) {
        if shows(html.get(at..tag.start).unwrap_or("")) {
            return true;
        }
        at = if tag.is_end { tag.end } else { raw_text_end(html, &tag) };
    }
    shows(byte_scan::text_from(html, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, shown: &str) {
        assert_eq!(without_hidden(html).html, shown, "{html}");
    }

    #[test]
    fn hidden_elements_are_left_out() {
        for hides in [
            "hidden",
            "HIDDEN=\"\"",
            "hidden=until-found",
            "aria-hidden=\"true\"",
            "style=\"display:none\"",
            "style='DISPLAY : none !important'",
            "title=\">\" style=\"color:red; visibility: hidden\"",
            "style=font-size:0",
            "style=\"position:absolute; left:-9999px\"",
            "style=\"opacity:0.0\"",
            "class=\"note gone\"",
            "id=secret",
        ] {
            let sheet = "<style>.gone, #secret { display: none }</style>";
            let html = format!("{sheet}<p>a<span {hides}>no <b>no</b><span>no</span></span>b</p>");
            check(&html, &format!("{sheet}<p>ab</p>"));
        }
    }

    #[test]
    fn elements_end_where_a_browser_ends_them() {
        for (html, shown) in [
            ("<p hidden>no<p>yes", "<p>yes"),
            ("<ul><li hidden>no<li>yes</ul>", "<ul><li>yes</ul>"),
            ("<ul><li>a<li hidden>no</ul>yes", "<ul><li>a</ul>yes"),
            ("<div hidden><p>no<p>no</div>yes", "yes"),
            ("a<div hidden><div>no</div>no</div>yes", "ayes"),
            ("a<div hidden><script>'</div>'</script>no</div>yes", "ayes"),
            ("a<div hidden><!-- </div> -->no</div>yes", "ayes"),
            ("a<input type=hidden hidden value=x>yes", "ayes"),
            ("a<iframe style='display:none'><b></iframe>yes", "ayes"),
            ("a<div hidden>no", "a"),
            (
                "<td style=\"font-size:0\"><i style=\"font-size:9px\">b</i></td>",
                "<td style=\"font-size:0\"><i style=\"font-size:9px\">b</i></td>",
            ),
            ("<script>'<p hidden>'</script>yes", "<script>'<p hidden>'</script>yes"),
        ] {
            check(html, shown);
        }
    }

    #[test]
    fn shown_pages_are_borrowed() {
        for html in [
            "<p>a</p><!-- <p hidden> --><p class=\"hidden\">b</p>",
            "<style>@media print { .a { display: none } } .menu .a { display: none }</style><p class=a>b</p>",
            "<body style=\"opacity:0\"><p style=\"left:-5px\">b</p></body>",
            "<a title=\"hidden\" aria-hidden=false data-hidden>b</a> 1 < 2",
        ] {
            assert!(matches!(without_hidden(html).html, Cow::Borrowed(_)), "{html}");
        }
        // The page is streamed, and its script shows it.
        let page = without_hidden("<div id=root></div><div hidden id=S:0><p>all</p></div>");
        assert!(page.hides_everything && page.html.contains("all"));
    }

    /// The text behind a hidden element whose content is no markup was left out up to the next end
    /// tag of its name. Pages with a tag manager begin with such a frame.
    #[test]
    fn text_behind_a_hidden_frame_stays() {
        let frame = "<iframe src=x height=0 style=\"display:none;visibility:hidden\"></iframe>";
        check(&format!("<p>a</p>{frame}<p>b</p>"), "<p>a</p><p>b</p>");
        check(
            "<p>a</p><script hidden>x()</script><p>b</p><script>y()</script><p>c</p>",
            "<p>a</p><p>b</p><script>y()</script><p>c</p>",
        );
    }
}
