//! HTML to Markdown: what a reader of the page would see, without its machinery.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Elements whose content no reader of the page sees.
const MACHINERY: [&str; 11] = [
    "script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "math",
    "noembed", "noframes",
];

/// Deepest nesting that the converter is given. It recurses, and its time grows with the depth;
/// real pages stay below 100.
const DEEPEST: usize = 200;

/// Longest run of elements without anything between them that the converter is given: it merges
/// neighbours one by one, which takes quadratic time.
const LONGEST_RUN: usize = 4_000;

/// Largest page that the converter is given, in bytes; larger ones are stripped of their tags.
const LARGEST: usize = 8 * 1024 * 1024;

/// Converts a page. One that is too deep or too large for the converter is stripped of its tags
/// instead, so the time stays linear and the stack bounded whatever the page holds.
pub(super) fn to_markdown(html: &str) -> String {
    if html.len() > LARGEST || !is_tame(html) {
        return strip_tags(html);
    }
    let converted = catch_unwind(AssertUnwindSafe(|| {
        htmd::HtmlToMarkdown::builder().skip_tags(MACHINERY.to_vec()).build().convert(html)
    }));
    match converted {
        Ok(Ok(markdown)) => markdown,
        _ => strip_tags(html),
    }
}

/// A tag as the scan of the page sees it.
struct Tag<'a> {
    name: &'a str,
    is_end: bool,
    /// Byte after the tag.
    end: usize,
}

/// Reads the tag, comment or declaration that begins at byte `at`, a `<`.
fn tag(html: &str, at: usize) -> Option<Tag<'_>> {
    let rest = byte_scan::text_from(html, at + 1);
    if rest.starts_with("!--") {
        let end = memchr::memmem::find(rest.as_bytes(), b"-->").map_or(html.len(), |n| at + n + 4);
        return Some(Tag { name: "", is_end: false, end });
    }
    let is_end = rest.starts_with('/');
    let name = rest.strip_prefix('/').unwrap_or(rest);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?')) {
        return None;
    }
    let len = name
        .find(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/'))
        .unwrap_or(name.len());
    let end = memchr::memchr(b'>', rest.as_bytes()).map_or(html.len(), |n| at + n + 2);
    Some(Tag { name: byte_scan::text_before(name, len), is_end, end })
}

/// Whether the page keeps to [`DEEPEST`] and [`LONGEST_RUN`]. Tags that never nest are not counted
/// into the depth, because pages leave them open.
fn is_tame(html: &str) -> bool {
    const FLAT: [&str; 27] = [
        "p", "li", "dt", "dd", "tr", "td", "th", "option", "br", "img", "hr", "input", "meta",
        "link", "area", "base", "col", "embed", "source", "track", "wbr", "param", "thead",
        "tbody", "tfoot", "html", "body",
    ];
    let (mut depth, mut run) = (0_usize, 0_usize);
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'<', byte_scan::text_from(html, at).as_bytes()) {
        let Some(tag) = tag(html, at + open) else {
            at += open + 1;
            continue;
        };
        at = tag.end;
        if tag.is_end {
            let goes_on = byte_scan::text_from(html, at).starts_with('<')
                && !byte_scan::text_from(html, at).starts_with("</");
            run = if goes_on { run + 1 } else { 0 };
        }
        if FLAT.iter().any(|flat| tag.name.eq_ignore_ascii_case(flat)) || tag.name.is_empty() {
            continue;
        }
        depth = if tag.is_end { depth.saturating_sub(1) } else { depth + 1 };
        if depth > DEEPEST || run > LONGEST_RUN {
            return false;
        }
    }
    true
}

/// The text between the tags, machinery left out, character references decoded.
fn strip_tags(html: &str) -> String {
    let mut out = String::with_capacity(html.len() / 2);
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'<', byte_scan::text_from(html, at).as_bytes()) {
        let open = at + open;
        push_text(&mut out, html.get(at..open).unwrap_or(""));
        let Some(tag) = tag(html, open) else {
            out.push('<');
            at = open + 1;
            continue;
        };
        at = tag.end;
        if tag.is_end || tag.name.is_empty() {
            continue;
        }
        let is_machinery = MACHINERY.iter().any(|name| tag.name.eq_ignore_ascii_case(name));
        if is_machinery {
            at = after_element(html, at, tag.name);
        } else if tag.name.eq_ignore_ascii_case("br") || tag.name.eq_ignore_ascii_case("p") {
            out.push('\n');
        }
    }
    push_text(&mut out, byte_scan::text_from(html, at));
    out
}

/// Where the element ends that began before `at`: after the next end tag of its name.
fn after_element(html: &str, mut at: usize, name: &str) -> usize {
    while let Some(open) = memchr::memmem::find(byte_scan::text_from(html, at).as_bytes(), b"</") {
        let Some(tag) = tag(html, at + open) else {
            at += open + 2;
            continue;
        };
        at = tag.end;
        if tag.name.eq_ignore_ascii_case(name) {
            return at;
        }
    }
    html.len()
}

fn push_text(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        out.push_str(byte_scan::text_before(rest, at));
        rest = byte_scan::text_from(rest, at + 1);
        match character_reference(rest) {
            Some((c, len)) => {
                out.push(c);
                rest = byte_scan::text_from(rest, len);
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
}

/// The references that text really uses: numbers, and the names of the markup characters.
fn character_reference(text: &str) -> Option<(char, usize)> {
    let near = byte_scan::text_before(text, text.floor_char_boundary(12));
    let (name, _) = near.split_once(';')?;
    let c = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
        None => match name {
            "lt" | "LT" => '<',
            "gt" | "GT" => '>',
            "amp" | "AMP" => '&',
            "quot" | "QUOT" => '"',
            "apos" => '\'',
            "nbsp" => '\u{A0}',
            "lsqb" | "lbrack" => '[',
            "rsqb" | "rbrack" => ']',
            "vert" | "verbar" => '|',
            "colon" => ':',
            "sol" => '/',
            "bsol" => '\\',
            "excl" => '!',
            "lowbar" => '_',
            _ => return None,
        },
    };
    Some((c, name.len() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_markdown_without_machinery() {
        for (html, markdown) in [
            ("<h1>Title</h1><p>Some <b>bold</b> text.</p>", "# Title\n\nSome **bold** text."),
            ("<p>a</p><script>alert(1)</script><style>p{}</style>", "a"),
            ("<p>a</p><!-- hidden --><template>t</template><noscript>n</noscript>", "a"),
            ("<head><title>T</title></head><body>b</body>", "T\n\nb"),
            ("<a href=\"https://a.example/\">link</a>", "[link](https://a.example/)"),
        ] {
            assert_eq!(to_markdown(html), markdown, "{html}");
        }
    }

    #[test]
    fn a_page_too_deep_is_stripped() {
        let deep = format!(
            "{}&lt;x&gt; <script>no</script>{}",
            "<div>".repeat(50_000),
            "</div>".repeat(9)
        );
        assert_eq!(to_markdown(&deep).trim(), "<x>");
    }

    #[test]
    fn the_deepest_page_fits_a_small_stack() {
        let deep = format!("{}x", "<div><b>".repeat(DEEPEST / 2));
        let small = std::thread::Builder::new().stack_size(1024 * 1024);
        let text = small.spawn(move || to_markdown(&deep)).unwrap().join().unwrap();
        assert!(text.contains('x'));
    }
}
