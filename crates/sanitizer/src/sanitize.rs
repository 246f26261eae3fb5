//! The entry point: takes bytes or text of a media type, returns sanitized text and a report.

use super::content_type::{ContentKind, content_kind};
use super::html_to_markdown::{Links, html_to_markdown};
use super::markers::{self, Reading};
use super::report::{Change, ChangeKind, Flag, FlagKind, Report};
use super::{
    call_fences, control_token_scan, decode_utf8, escape_invisible, hidden_html, injection_phrases,
    json_literals, line_starts, nested_tags, remote_images,
};
use std::borrow::Cow;

/// A neutralized text, and the changes that were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sanitized<'a> {
    /// The text for the model. Borrowed if nothing had to be changed.
    pub text: Cow<'a, str>,
    /// The changes, one entry per kind.
    pub changes: Vec<Change>,
    /// Plain-language orders and similar suspicions; they are still in the text.
    pub flags: Vec<Flag>,
}

impl Sanitized<'_> {
    /// Returns whether the text appears to give orders to the model.
    #[must_use]
    pub fn flagged(&self) -> bool {
        !self.flags.is_empty()
    }

    /// Returns the same with an owned text.
    #[must_use]
    pub fn into_owned(self) -> Sanitized<'static> {
        Sanitized {
            text: Cow::Owned(self.text.into_owned()),
            changes: self.changes,
            flags: self.flags,
        }
    }
}

/// Neutralizes a text (see the [crate page](crate#guarantees) for the definition).
///
/// `content_type` is a media type (`text/plain; charset=utf-8`) or a bare subtype (`json`); it
/// selects how the text is read: HTML is converted to Markdown, in JSON only string literals are
/// checked, and in source code images stay. An unknown type is read as text. Never fails; takes
/// time linear in the text; for a type other than HTML, sanitizing a second time changes nothing.
///
/// ```
/// use toolcrib_sanitizer::sanitize;
///
/// let json = sanitize(r#"{"title": "[INST] hi"}"#, "application/json");
/// assert_eq!(json.text, r#"{"title": "[\\INST] hi"}"#);
/// let markdown = sanitize("![](https://evil.example/?q=1)", "text/markdown");
/// assert_eq!(markdown.text, "!\\[](https://evil.example/?q=1)");
/// ```
#[must_use]
pub fn sanitize<'a>(text: &'a str, content_type: &str) -> Sanitized<'a> {
    run(Cow::Borrowed(text), content_type, Report::default())
}

/// Like [`sanitize`], for bytes: invalid UTF-8 is replaced by U+FFFD and reported.
///
/// ```
/// use toolcrib_sanitizer::{ChangeKind, sanitize_bytes};
///
/// let sanitized = sanitize_bytes(b"caf\xE9 \x1B[2J", "text/plain");
/// assert_eq!(sanitized.text, "caf\u{FFFD} ^[[2J");
/// let kinds: Vec<_> = sanitized.changes.iter().map(|change| change.kind).collect();
/// assert_eq!(kinds, [ChangeKind::InvalidUtf8, ChangeKind::Terminal]);
/// ```
#[must_use]
pub fn sanitize_bytes<'a>(bytes: &'a [u8], content_type: &str) -> Sanitized<'a> {
    let mut report = Report::default();
    let text = decode_utf8::decode(bytes, &mut report);
    run(text, content_type, report)
}

/// Longest text that is checked by [`is_inert`], in bytes.
const INERT_BYTES: usize = 256;

/// Returns whether the text is a number, a time or a name: one word of plain ASCII can contain no
/// token, no order and nothing hidden. Most small results are of this kind.
fn is_inert(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-+:/,%".contains(&b);
    text.len() <= INERT_BYTES && text.bytes().all(plain)
}

fn run<'a>(text: Cow<'a, str>, content_type: &str, mut report: Report) -> Sanitized<'a> {
    if is_inert(&text) {
        return Sanitized { text, changes: report.changes, flags: report.flags };
    }
    let text = decode_utf8::strip_bom(text, &mut report);
    let text = match content_kind(content_type) {
        ContentKind::Html => {
            let page = hidden_html::without_hidden(&text);
            report.left_out(page.left_out);
            if page.hides_everything {
                report.flag(FlagKind::HiddenText, "the whole page");
            }
            let markdown = Cow::Owned(html_to_markdown(&page.html, Links::AsWritten));
            as_text(markdown, Profile::Converted, &mut report)
        }
        ContentKind::Json => as_json(text, |_| true, &mut report),
        ContentKind::Text { may_be_json: true, .. } => {
            // A text that is JSON as a whole may be a forged call; data that is declared as JSON is
            // read as data.
            if looks_like_json(&text) {
                markers::flag_markers(&text, Reading::Plain, &mut report);
            }
            as_json(text, looks_like_json, &mut report)
        }
        ContentKind::Text { images, .. } => {
            let profile = if images { Profile::Prose } else { Profile::Source };
            as_text(text, profile, &mut report)
        }
    };
    Sanitized { text, changes: report.changes, flags: report.flags }
}

fn as_text<'a>(text: Cow<'a, str>, profile: Profile, report: &mut Report) -> Cow<'a, str> {
    // Search for orders before invisible characters are written out: such characters may hide an
    // order.
    injection_phrases::flag_injection_phrases(&text, report);
    let reading = if profile.renders_images() { Reading::Prose } else { Reading::Plain };
    markers::flag_markers(&text, reading, report);
    if reading == Reading::Prose {
        remote_images::flag_links(&text, report);
    }
    neutralize_cow(text, profile, report)
}

/// Reads a text as JSON. Escaping can turn a text that was not JSON into JSON (a raw control
/// character in a string); the result is then read as JSON, as a second pass would do.
fn as_json<'a>(
    text: Cow<'a, str>,
    claims: impl Fn(&str) -> bool,
    report: &mut Report,
) -> Cow<'a, str> {
    let text = match claims(&text).then(|| try_json(&text, report)).flatten() {
        Some(Cow::Owned(changed)) => return Cow::Owned(changed),
        Some(Cow::Borrowed(_)) => return text,
        None => as_text(text, Profile::Prose, report),
    };
    match &text {
        Cow::Owned(changed) if claims(changed) => {
            let again = json_literals::neutralize_literals(changed, report)
                .map(|pass| pass.text.into_owned());
            again.map_or(text, Cow::Owned)
        }
        _ => text,
    }
}

fn try_json<'t>(text: &'t str, report: &mut Report) -> Option<Cow<'t, str>> {
    let pass = json_literals::neutralize_literals(text, report)?;
    injection_phrases::flag_injection_phrases(text, report);
    injection_phrases::flag_injection_phrases(&pass.decoded, report);
    markers::flag_markers(&pass.decoded, Reading::Prose, report);
    remote_images::flag_links(text, report);
    Some(pass.text)
}

/// Returns whether a text looks like JSON: it begins with an object or an array.
fn looks_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// The kind of text, as far as escaping depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    /// Remote images are escaped.
    Prose,
    /// Markdown converted from HTML: the same, and the converter's backslashes are ignored.
    Converted,
    /// Source code: images stay.
    Source,
    /// The name of a member of a JSON object: images stay.
    Key,
}

impl Profile {
    fn renders_images(self) -> bool {
        matches!(self, Self::Prose | Self::Converted)
    }
}

/// Escapes all active content in a text; borrowed if there is none.
pub(super) fn neutralize<'a>(text: &'a str, profile: Profile, report: &mut Report) -> Cow<'a, str> {
    neutralize_cow(Cow::Borrowed(text), profile, report)
}

fn neutralize_cow<'a>(text: Cow<'a, str>, profile: Profile, report: &mut Report) -> Cow<'a, str> {
    // Invisible characters first: escaping `ESC` to `^[` can complete a token, never the reverse.
    let text = escape_invisible::escape_invisible(text, report);
    let text = escape_tokens(text, profile == Profile::Converted, report);
    if profile.renders_images() { escape_images(text, report) } else { text }
}

fn escape_tokens<'a>(text: Cow<'a, str>, escapes: bool, report: &mut Report) -> Cow<'a, str> {
    let (mut tokens, mut turns) = (Vec::new(), Vec::new());
    control_token_scan::find_control_tokens(&text, escapes, &mut tokens);
    nested_tags::find_nested_tags(&text, &mut tokens);
    call_fences::find_call_fences(&text, &mut tokens);
    line_starts::find_line_starts(&text, &mut turns);
    for token in &tokens {
        let example = || example_at(&text, token.at);
        report.change(ChangeKind::ControlToken, 1, Some(token.provider), example);
    }
    for &at in &turns {
        report.change(ChangeKind::TurnMarker, 1, None, || example_at(&text, at));
    }
    turns.extend(tokens.iter().map(|token| token.at));
    insert_backslashes(text, turns)
}

fn escape_images<'a>(mut text: Cow<'a, str>, report: &mut Report) -> Cow<'a, str> {
    for round in 0.. {
        let found = remote_images::remote_image_offsets(&text, round);
        if found.is_empty() {
            break;
        }
        for &at in &found {
            report.change(ChangeKind::RemoteImage, 1, None, || example_at(&text, at));
        }
        text = insert_backslashes(text, found);
    }
    text
}

/// Returns the text around a place as it will appear: one character before the backslash, some
/// after it.
fn example_at(text: &str, at: usize) -> Cow<'_, str> {
    let start = text.get(..at).unwrap_or("").char_indices().next_back().map_or(0, |(i, _)| i);
    let end = text.ceil_char_boundary((at + 32).min(text.len()));
    let (before, after) = (text.get(start..at).unwrap_or(""), text.get(at..end).unwrap_or(""));
    let line = after.lines().next().unwrap_or("");
    Cow::Owned(format!("{before}\\{line}"))
}

fn insert_backslashes(text: Cow<'_, str>, mut places: Vec<usize>) -> Cow<'_, str> {
    if places.is_empty() {
        return text;
    }
    places.sort_unstable();
    places.dedup();
    let mut out = String::with_capacity(text.len() + places.len());
    let mut copied = 0;
    for at in places {
        out.push_str(text.get(copied..at).unwrap_or(""));
        out.push('\\');
        copied = at;
    }
    out.push_str(text.get(copied..).unwrap_or(""));
    Cow::Owned(out)
}
