//! The allow-list: elements, attributes and addresses.

use html5ever::tokenizer::states::RawKind;
use url::Url;

/// Longest address of a link, in bytes.
const MAX_LINK: usize = 2048;

/// What becomes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// It is written.
    Kept,
    /// It is written and has no content and no end tag.
    Void,
    /// Its tags are left out and its content stays.
    Unwrapped,
    /// It is left out with its content, which the tokenizer reads as its kind says.
    Dropped(Content),
}

/// How the content of an element that is left out is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// As elements, up to the matching end tag.
    Elements,
    /// As text up to the end tag.
    Text(RawKind),
    /// As text up to the end of the card.
    Rest,
    /// There is none.
    Nothing,
}

/// What becomes of the element of this name, which is in lower case.
pub(super) fn element(name: &str) -> Element {
    match name {
        "a" | "abbr" | "address" | "article" | "aside" | "b" | "bdi" | "bdo" | "blockquote"
        | "caption" | "cite" | "code" | "colgroup" | "dd" | "del" | "details" | "dfn" | "div"
        | "dl" | "dt" | "em" | "figcaption" | "figure" | "footer" | "h1" | "h2" | "h3" | "h4"
        | "h5" | "h6" | "header" | "i" | "ins" | "kbd" | "li" | "mark" | "meter" | "ol" | "p"
        | "pre" | "progress" | "q" | "rp" | "rt" | "ruby" | "s" | "samp" | "section" | "small"
        | "span" | "strong" | "sub" | "summary" | "sup" | "table" | "tbody" | "td" | "tfoot"
        | "th" | "thead" | "time" | "tr" | "u" | "ul" | "var" => Element::Kept,
        "br" | "col" | "hr" | "img" | "wbr" => Element::Void,
        "script" => Element::Dropped(Content::Text(RawKind::ScriptData)),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript" => {
            Element::Dropped(Content::Text(RawKind::Rawtext))
        }
        "textarea" | "title" => Element::Dropped(Content::Text(RawKind::Rcdata)),
        "plaintext" => Element::Dropped(Content::Rest),
        "applet" | "audio" | "canvas" | "frameset" | "math" | "object" | "select" | "svg"
        | "template" | "video" | "dialog" | "portal" | "fencedframe" => {
            Element::Dropped(Content::Elements)
        }
        "base" | "embed" | "frame" | "input" | "link" | "meta" | "param" | "source" | "track" => {
            Element::Dropped(Content::Nothing)
        }
        _ => Element::Unwrapped,
    }
}

/// What an element that is left out is called in the report.
pub(super) fn kind(name: &str) -> &'static str {
    match name {
        "script" | "noscript" => "script",
        "style" | "link" => "style sheet",
        "iframe" | "frame" | "frameset" | "object" | "embed" | "applet" | "portal"
        | "fencedframe" => "frame",
        "form" | "input" | "select" | "textarea" | "button" | "option" | "label" => "form",
        "svg" | "math" | "canvas" => "drawing",
        _ => "element",
    }
}

/// A kept attribute: its value as it is written; `None` leaves it out.
pub(super) fn attribute(element: &str, name: &str, value: &str) -> Option<String> {
    let plain = || Some(value.to_owned());
    match (element, name) {
        (_, "style") => super::style::kept(value),
        (_, "title" | "aria-label") => plain(),
        (_, "lang") => word(value),
        (_, "dir") => one_of(value, &["ltr", "rtl", "auto"]),
        (_, "aria-hidden") => one_of(value, &["true", "false"]),
        ("a", "href") => link(value),
        ("img", "src") => picture(value),
        ("img", "alt") => plain(),
        ("img", "width" | "height") | ("td" | "th", "colspan" | "rowspan") => count(value),
        ("col" | "colgroup", "span") | ("ol", "start") | ("li", "value") => count(value),
        ("th", "scope") => one_of(value, &["row", "col", "rowgroup", "colgroup"]),
        ("progress" | "meter", "value" | "max" | "min" | "low" | "high" | "optimum") => {
            number(value)
        }
        ("time", "datetime") => plain().filter(|text| text.len() <= 40),
        ("details", "open") | ("ol", "reversed") => Some(String::new()),
        _ => None,
    }
}

/// An address that a click may lead to.
fn link(value: &str) -> Option<String> {
    let url = Url::parse(value.trim()).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https" | "mailto");
    // A name before the host is how `https://bank.example@evil.example` deceives.
    let is_plain = url.username().is_empty() && url.password().is_none();
    (is_web && is_plain && url.as_str().len() <= MAX_LINK).then(|| url.to_string())
}

/// A picture that is part of the card. Every other address would tell its host that the card was
/// looked at.
fn picture(value: &str) -> Option<String> {
    let value = value.trim();
    let (kind, data) = value.split_once(";base64,")?;
    let kinds = ["data:image/png", "data:image/jpeg", "data:image/gif", "data:image/webp"];
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    (kinds.contains(&kind) && data.bytes().all(is_base64)).then(|| value.to_owned())
}

fn word(value: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (value.len() <= 35 && value.chars().all(fits)).then(|| value.to_owned())
}

fn one_of(value: &str, words: &[&str]) -> Option<String> {
    let value = value.trim().to_ascii_lowercase();
    words.contains(&value.as_str()).then_some(value)
}

/// A whole number that no layout grows beyond bounds with.
fn count(value: &str) -> Option<String> {
    let count: u16 = value.trim().parse().ok()?;
    (count <= 2000).then(|| count.to_string())
}

fn number(value: &str) -> Option<String> {
    let number: f64 = value.trim().parse().ok()?;
    number.is_finite().then(|| value.trim().to_owned())
}

/// Whether a start tag of this kind ends where it began, as `<svg/>` does.
pub(super) fn may_close_itself(name: &str) -> bool {
    matches!(name, "svg" | "math")
}
