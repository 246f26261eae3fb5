//! Images that a renderer would fetch from a remote host, and links that can exfiltrate data.
//!
//! A renderer fetches an image as soon as it shows it, and an injected order can make the model
//! write any data into its address; so a remote image becomes plain text (`!\[alt](…)`, `<\img …`).
//! Only a person follows a link: it stays, and is flagged if its query has a placeholder for
//! private data. Local paths and `data:` images stay. This applies only to prose.
//!
//! Markdown is read with one stack of brackets in one pass, HTML attributes as the HTML
//! tokenizer reads them; where the two readings of a broken text differ, the image is escaped.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::report::{FlagKind, Report};
use super::script_links;
use std::collections::HashSet;

/// Maximum number of attributes read from one `<img`; a tag with more counts as remote.
const MOST_ATTRIBUTES: usize = 32;

/// Number of characters of a destination that are read to determine its host.
const DESTINATION_PREFIX: usize = 128;

/// Number of bytes of a link that are searched for a query.
const LINK_PREFIX: usize = 256;

/// Number of rounds of escaping after which every image is escaped: only adversarial texts, with
/// images in the descriptions of images, need more.
const MOST_ROUNDS: usize = 3;

/// Longest label of a reference, in bytes (`CommonMark` §4.7 allows 999 characters).
const LONGEST_LABEL: usize = 999;

/// Finds the images to escape so that a text with the backslashes of `round` rounds contains no
/// remote image: returns the bytes before which the next backslashes are inserted, unordered.
pub(super) fn remote_image_offsets(text: &str, round: usize) -> Vec<usize> {
    let mut found = Vec::new();
    remote(text, &mut found);
    if round >= MOST_ROUNDS && !found.is_empty() {
        found.clear();
        found.extend(memchr::memmem::find_iter(text.as_bytes(), b"![").map(|at| at + 1));
        found.extend(image_tags(text).map(|(at, _)| at));
    }
    found
}

fn remote(text: &str, found: &mut Vec<usize>) {
    let mut marks = memchr::memchr_iter(b'!', text.as_bytes());
    if marks.any(|at| text.as_bytes().get(at + 1) == Some(&b'[')) {
        Markdown::default().read(text, found);
    }
    found.extend(image_tags(text).filter(|(_, rest)| has_remote_source(rest)).map(|(at, _)| at));
}

/// Returns the `<img` tags: the byte after each `<`, and the text after the name.
fn image_tags(text: &str) -> impl Iterator<Item = (usize, &str)> {
    memchr::memchr_iter(b'<', text.as_bytes()).filter_map(move |at| {
        let rest = byte_scan::text_from(text, at + 1);
        let [a, b, c, after] = rest.as_bytes().first_chunk::<4>()?;
        let is_image = [*a, *b, *c].eq_ignore_ascii_case(b"img")
            && (after.is_ascii_whitespace() || *after == b'/');
        is_image.then(|| (at + 1, byte_scan::text_from(rest, 3)))
    })
}

/// One open bracket.
struct Open {
    /// Byte after the `[`.
    inner: usize,
    is_image: bool,
}

/// The data that one pass over a Markdown text collects.
#[derive(Default)]
struct Markdown<'t> {
    open: Vec<Open>,
    /// An image bracket that was closed without a destination: a bracket in its text may have been
    /// closed instead.
    failed: Option<usize>,
    /// Images that name a reference: position and label.
    references: Vec<(usize, &'t str)>,
    /// Labels that are defined as remote.
    remote: HashSet<String>,
}

impl<'t> Markdown<'t> {
    fn read(mut self, text: &'t str, found: &mut Vec<usize>) {
        let bytes = text.as_bytes();
        let mut skip_to = 0;
        for at in memchr::memchr3_iter(b'[', b']', b'\n', bytes) {
            if at < skip_to {
                continue;
            }
            match bytes.get(at) {
                Some(b'\n') => {
                    if byte_scan::text_from(text, at + 1)
                        .trim_start_matches([' ', '\t', '\r', '>'])
                        .starts_with('\n')
                    {
                        self.open.clear();
                        self.failed = None;
                    }
                }
                _ if is_escaped(bytes, at) => {}
                Some(b'[') => {
                    if let Some(end) = self.definition(text, at) {
                        skip_to = end;
                        continue;
                    }
                    let bang = at.checked_sub(1).filter(|&b| bytes.get(b) == Some(&b'!'));
                    let is_image = bang.is_some_and(|bang| !is_escaped(bytes, bang));
                    self.open.push(Open { inner: at + 1, is_image });
                }
                _ => self.close(text, at, found),
            }
        }
        for (at, label) in std::mem::take(&mut self.references) {
            if self.remote.contains(&label_key(label)) {
                found.push(at);
            }
        }
    }

    /// Handles the `]` at byte `at`.
    fn close(&mut self, text: &'t str, at: usize, found: &mut Vec<usize>) {
        let rest = byte_scan::text_from(text, at + 1);
        let opened = self.open.pop();
        let remote = rest.strip_prefix('(').is_some_and(leads_away);
        let Some(opened) = opened else {
            if remote {
                found.extend(self.failed.take());
            }
            return;
        };
        if !opened.is_image {
            return;
        }
        // The backslash is inserted between `!` and `[`.
        let place = opened.inner - 1;
        if remote {
            found.push(place);
            return;
        }
        let inner = text.get(opened.inner..at).unwrap_or("");
        let named = rest.strip_prefix('[').and_then(|label| {
            let end =
                memchr::memchr(b']', label.as_bytes().get(..label.len().min(LONGEST_LABEL))?)?;
            label.get(..end).filter(|label| !label.is_empty())
        });
        let label = named.unwrap_or(inner);
        if label.len() <= LONGEST_LABEL {
            self.references.push((place, label));
        }
        self.failed = Some(place);
    }

    /// Parses `[label]: destination` at the start of a line; returns the end of the label.
    fn definition(&mut self, text: &str, at: usize) -> Option<usize> {
        let line_start = byte_scan::text_before(text, at).trim_end_matches([' ', '\t', '>']);
        if !(line_start.is_empty() || line_start.ends_with('\n')) {
            return None;
        }
        let rest = byte_scan::text_from(text, at + 1);
        let near = rest.as_bytes().get(..rest.len().min(LONGEST_LABEL))?;
        let end = memchr::memchr(b']', near)?;
        let label = rest.get(..end)?;
        let destination = byte_scan::text_from(rest, end + 1).strip_prefix(':')?;
        if leads_away(destination) {
            self.remote.insert(label_key(label));
        }
        Some(at + 1 + end + 1)
    }
}

/// Labels match regardless of case and blanks (`CommonMark` §4.7).
fn label_key(label: &str) -> String {
    let mut key = String::with_capacity(label.len().min(LONGEST_LABEL));
    for word in label.split_whitespace().take(LONGEST_LABEL) {
        key.push_str(&word.to_lowercase());
        key.push(' ');
    }
    key
}

/// Returns whether an odd number of backslashes precedes this byte.
fn is_escaped(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or(&[]);
    before.iter().rev().take_while(|&&b| b == b'\\').count() % 2 == 1
}

/// Returns whether a destination (in Markdown or in an attribute) names another host.
fn leads_away(destination: &str) -> bool {
    let plain = decoded_prefix(destination);
    let address =
        plain.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '<' | '"' | '\''));
    let mut chars = address.chars();
    if matches!((chars.next(), chars.next()), (Some('/' | '\\'), Some('/' | '\\'))) {
        return true;
    }
    let Some((scheme, _)) = address.split_once(':') else { return false };
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme
        && !["data", "cid", "attachment", "sandbox", "blob", "artifact", "file"].contains(&scheme)
}

/// Returns the first characters as a renderer reads them: character references and backslash
/// escapes decoded, line breaks and tabs inside dropped, lower case.
pub(super) fn decoded_prefix(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.trim_start();
    for _ in 0..DESTINATION_PREFIX {
        let Some(c) = rest.chars().next() else { break };
        rest = byte_scan::text_from(rest, c.len_utf8());
        match c {
            '&' => match character_reference(rest) {
                Some((decoded, len)) => {
                    out.push(decoded);
                    rest = byte_scan::text_from(rest, len);
                }
                None => out.push('&'),
            },
            '\\' => match rest.chars().next() {
                Some(escaped) if escaped.is_ascii_punctuation() && escaped != '\\' => {}
                _ => out.push('\\'),
            },
            '\t' | '\n' | '\r' => {}
            ')' | '>' => break,
            ' ' if !out.is_empty() => break,
            c => out.push(c.to_ascii_lowercase()),
        }
        let decided = out.len() > 2 && out.ends_with([':', '/', '\\', '?', '#']);
        if decided
            || out.ends_with(|c: char| c.is_ascii_punctuation() && !"+-./\\:<\"'&;#?".contains(c))
        {
            break;
        }
    }
    out
}

/// Returns a character reference after its `&`: the character and its length in bytes.
fn character_reference(text: &str) -> Option<(char, usize)> {
    let near =
        text.get(..text.len().min(12)).or_else(|| text.get(..text.floor_char_boundary(12)))?;
    if let Some(number) = near.strip_prefix('#') {
        let (digits, radix, skipped) = match number.strip_prefix(['x', 'X']) {
            Some(hex) => (hex, 16, 2),
            None => (number, 10, 1),
        };
        let len = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let code = u32::from_str_radix(digits.get(..len)?, radix).ok()?;
        let semicolon = usize::from(byte_scan::text_from(digits, len).starts_with(';'));
        return Some((char::from_u32(code)?, skipped + len + semicolon));
    }
    let (name, _) = near.split_once(';')?;
    let decoded = match name.to_ascii_lowercase().as_str() {
        "colon" => ':',
        "sol" => '/',
        "bsol" => '\\',
        "period" => '.',
        "tab" => '\t',
        "newline" => '\n',
        _ => return None,
    };
    Some((decoded, name.len() + 1))
}

/// Reads the attributes of an `<img` (HTML §13.2.5.32 to .39): quotes start a value only after an
/// equals sign.
fn has_remote_source(mut rest: &str) -> bool {
    let is_space = |c: char| c.is_ascii_whitespace() || c == '/';
    for _ in 0..MOST_ATTRIBUTES {
        rest = rest.trim_start_matches(is_space);
        if rest.is_empty() || rest.starts_with('>') {
            return false;
        }
        let end =
            rest.find(|c: char| is_space(c) || matches!(c, '>' | '=')).unwrap_or(rest.len()).max(1);
        let end = if rest.is_char_boundary(end) { end } else { rest.len() };
        let name = rest.get(..end).unwrap_or("");
        rest = byte_scan::text_from(rest, end);
        let Some(value) =
            rest.trim_start_matches(|c: char| c.is_ascii_whitespace()).strip_prefix('=')
        else {
            continue;
        };
        let value = value.trim_start_matches(|c: char| c.is_ascii_whitespace());
        if is_source(name) && (leads_away(value) || lists_remote(name, value)) {
            return true;
        }
        rest = after_value(value);
    }
    true
}

fn is_source(name: &str) -> bool {
    ["src", "srcset", "lowsrc", "data-src"].iter().any(|source| name.eq_ignore_ascii_case(source))
}

/// Returns whether a `srcset` lists a remote candidate; a later one may be remote although the
/// first is not.
fn lists_remote(name: &str, value: &str) -> bool {
    name.eq_ignore_ascii_case("srcset") && {
        let len = value.len() - after_value(value).len();
        value.get(..len).unwrap_or("").split(',').any(leads_away)
    }
}

fn after_value(value: &str) -> &str {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = byte_scan::text_from(value, 1);
            inner.find(quote).map_or("", |end| byte_scan::text_from(inner, end + 1))
        }
        _ => {
            let end = value.find(|c: char| c.is_ascii_whitespace() || c == '>');
            byte_scan::text_from(value, end.unwrap_or(value.len()))
        }
    }
}

/// Returns whether the bracket that closes at byte `at` belongs to an image, which may contain its
/// data.
fn is_image(text: &str, at: usize) -> bool {
    let before = byte_scan::text_before(text, at);
    let near = byte_scan::text_from(before, before.floor_char_boundary(at.saturating_sub(200)));
    near.rfind('[').is_some_and(|open| byte_scan::text_before(near, open).ends_with('!'))
}

/// Flags links whose query has a placeholder for private data: `](https://x/?data={conversation})`,
/// and links that run a script.
pub(super) fn flag_links(text: &str, report: &mut Report) {
    const CARRIERS: [&str; 10] = [
        "data=",
        "secret=",
        "history=",
        "conversation=",
        "chat=",
        "context=",
        "prompt=",
        "memory=",
        "leak=",
        "exfil=",
    ];
    const GAPS: [char; 4] = ['{', '[', '<', '$'];
    for at in memchr::memchr_iter(b']', text.as_bytes()) {
        let after = byte_scan::text_from(text, at + 1);
        if let Some(destination) = after.strip_prefix(": ") {
            script_links::flag_script(destination, report);
        }
        let Some(rest) = after.strip_prefix('(') else { continue };
        if !is_image(text, at) {
            script_links::flag_script(rest, report);
        }
        let near = byte_scan::text_before(rest, rest.floor_char_boundary(LINK_PREFIX));
        let end = near.find([')', '\n', ' ']).unwrap_or(near.len());
        let address = byte_scan::text_before(near, end);
        let Some((_, query)) = address.split_once('?') else { continue };
        let carries = query.split('&').any(|pair| {
            let pair = pair.to_ascii_lowercase();
            CARRIERS.iter().any(|name| {
                pair.strip_prefix(name).is_some_and(|v| v.starts_with(GAPS) || v.starts_with("%7b"))
            })
        });
        if carries && leads_away(address) {
            report.flag(FlagKind::DataLink, address);
        }
    }
}
