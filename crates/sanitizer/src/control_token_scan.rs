//! The second pass: inserts a backslash after the first character of control tokens and tool-call
//! markup, so that they read the same but match no token (`<\|im_start|>`, `[\INST]`).
//!
//! No token contains a backslash, and every place is checked independently, so one pass reaches the
//! fixpoint. Letters are compared folded ([`super::folded_cursor`]).
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::control_tokens::{
    BARRED, BARRED_PREFIX, BRACKETS, Case, Form, HALF_BARRED, HALF_BARRED_PROVIDER, TAG_PREFIXES,
    TAGS, TURNS, Token,
};
use super::folded_cursor::Cursor;
use super::invisible_chars::is_invisible;
use super::prefix_filter::{ANGLE_PREFIXES, SQUARE_PREFIXES};
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Longest text between bars that counts as a token, in characters.
const LONGEST_BARRED: usize = 64;

/// Longest name of a tag that is looked up, in characters.
const LONGEST_NAME: usize = 48;

/// The start of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenMatch {
    /// The byte before which the backslash is inserted.
    pub(super) at: usize,
    /// The provider that defines the token.
    pub(super) provider: &'static str,
}

/// The full-width brackets. Preparing a search takes longer than searching a short string.
static WIDE_BRACKETS: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| [Finder::new("＜"), Finder::new("［")]);

/// Finds all tokens, in order. `escapes` means that the text is Markdown from a converter, in which
/// a backslash before punctuation is not part of the text (`\<tool\_call>` reads as a tag).
pub(super) fn find_control_tokens(text: &str, escapes: bool, found: &mut Vec<TokenMatch>) {
    for at in memchr::memchr2_iter(b'<', b'[', text.as_bytes()) {
        if !may_begin(text.as_bytes(), at, escapes) {
            continue;
        }
        judge(text, at, 1, escapes, found);
    }
    if !text.is_ascii() {
        let wide = found.len();
        for bracket in &*WIDE_BRACKETS {
            for at in bracket.find_iter(text.as_bytes()) {
                judge(text, at, bracket.needle().len(), escapes, found);
            }
        }
        if found.len() > wide {
            found.sort_unstable_by_key(|token| token.at);
        }
    }
}

/// Checks the next bytes quickly; this excludes nearly all brackets of benign text.
fn may_begin(bytes: &[u8], at: usize, escapes: bool) -> bool {
    let mut next = bytes.get(at + 1..).unwrap_or(&[]).iter().copied();
    let mut visible = || next.find(|b| !matches!(b, b' ' | b'\t'));
    let Some(mut first) = visible() else { return false };
    if first == b'/' {
        first = visible().unwrap_or(0);
    }
    let second = next.next().unwrap_or(0);
    let starts = if bytes.get(at) == Some(&b'<') {
        matches!(first, b'|' | b'<') || ANGLE_PREFIXES.has(first, second)
    } else {
        SQUARE_PREFIXES.has(first, second)
    };
    starts
        || !first.is_ascii()
        || !second.is_ascii()
        || (escapes && (first == b'\\' || second == b'\\'))
}

fn judge(text: &str, at: usize, len: usize, escapes: bool, found: &mut Vec<TokenMatch>) {
    let cursor = Cursor::new(byte_scan::text_from(text, at + len), escapes);
    let after_word = || {
        let before = byte_scan::text_before(text, at).chars().rev().find(|&c| !is_invisible(c));
        before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | ')' | ']'))
    };
    let is_angle = matches!(text.as_bytes().get(at), Some(b'<'))
        || byte_scan::text_from(text, at).starts_with('＜');
    let provider = if is_angle { angle(cursor, &after_word) } else { square(cursor, &after_word) };
    if let Some(provider) = provider {
        found.push(TokenMatch { at: at + len, provider });
    }
}

/// Returns the colon of a line that opens a turn: `Human:` or `Assistant:` after a blank line. The
/// backslash is inserted before it. `newline` is the byte before the line: the start of the text is
/// the start of a line, not of a turn.
pub(super) fn turn_marker(text: &str, newline: usize) -> Option<usize> {
    let colon = turn_colon(byte_scan::text_from(text, newline + 1))?;
    ends_blank_line(byte_scan::text_before(text, newline)).then_some(newline + 1 + colon)
}

fn turn_colon(line: &str) -> Option<usize> {
    let mut cursor = Cursor::new(line, false);
    cursor.skip_blanks();
    let name = cursor.take(|c| c.is_ascii_alphabetic(), 10);
    if !TURNS.iter().any(|turn| name.eq_ignore_ascii_case(turn)) {
        return None;
    }
    cursor.skip_blanks();
    let colon = cursor.position(line);
    cursor.eat(':').then_some(colon)
}

fn ends_blank_line(before: &str) -> bool {
    let line = before.trim_end_matches(|c: char| matches!(c, ' ' | '\t' | '\r') || is_invisible(c));
    line.is_empty() || line.ends_with('\n')
}

/// Matches the token after an opening `<`.
fn angle(mut cursor: Cursor<'_>, after_word: &dyn Fn() -> bool) -> Option<&'static str> {
    let blank = cursor.skip_blanks();
    match cursor.peek()? {
        '|' => {
            cursor.bump();
            barred(cursor, blank)
        }
        '<' => {
            cursor.bump();
            llama_system(cursor)
        }
        '/' => {
            cursor.bump();
            let blank = cursor.skip_blanks() || blank;
            if cursor.eat('|') {
                barred_prefix(cursor)
            } else {
                tag(cursor, blank, true, after_word)
            }
        }
        c if c.is_ascii_alphabetic() => tag(cursor, blank, false, after_word),
        _ => None,
    }
}

/// Matches `<<SYS>>` and `<</SYS>>`; the cursor is after the second bracket.
fn llama_system(mut cursor: Cursor<'_>) -> Option<&'static str> {
    cursor.skip_blanks();
    cursor.eat('/');
    cursor.skip_blanks();
    let name = cursor.take(|c| c.is_ascii_alphabetic(), 4);
    cursor.skip_blanks();
    let closed = cursor.eat('>') && {
        cursor.skip_blanks();
        cursor.eat('>')
    };
    (closed && name.eq_ignore_ascii_case("sys")).then_some("llama")
}

/// Matches `<|…|>` and the half-barred `<|…>`; the cursor is after the first bar.
///
/// Any text without surrounding blanks is a token; with blanks, only a known name is, because `<|`
/// and `|>` are operators in several languages.
fn barred(mut cursor: Cursor<'_>, blank: bool) -> Option<&'static str> {
    if cursor.rest().starts_with("\"|>") {
        return Some(HALF_BARRED_PROVIDER);
    }
    let blank = cursor.skip_blanks() || blank;
    let inner = cursor.take(
        |c| !matches!(c, '|' | '<' | '>' | '"' | '\\' | '`') && !c.is_control(),
        LONGEST_BARRED,
    );
    let name = inner.trim_end();
    let tight = !blank && name.len() == inner.len();
    if name.is_empty() {
        return None;
    }
    let key = table_name(name);
    if cursor.eat('>') {
        let half = tight && HALF_BARRED.contains(&&*key);
        return half.then_some(HALF_BARRED_PROVIDER);
    }
    if !cursor.eat('|') {
        return None;
    }
    let tight = !cursor.skip_blanks() && tight;
    if !cursor.eat('>') {
        let dsml = key == BARRED_PREFIX.0 && cursor.peek().is_some_and(|c| c.is_ascii_alphabetic());
        return dsml.then_some(BARRED_PREFIX.1);
    }
    let known = BARRED.iter().find(|(barred, _)| *barred == key).map(|(_, provider)| *provider);
    known.or(if tight { Some("any") } else { None })
}

/// Matches `</｜DSML｜name`; the cursor is after the first bar.
fn barred_prefix(mut cursor: Cursor<'_>) -> Option<&'static str> {
    cursor.skip_blanks();
    let name = cursor.take(|c| c.is_ascii_alphabetic(), 8);
    cursor.skip_blanks();
    let found = name.eq_ignore_ascii_case(BARRED_PREFIX.0) && cursor.eat('|');
    found.then_some(BARRED_PREFIX.1)
}

/// Matches `<name …>`; the cursor is at the name.
fn tag(
    mut cursor: Cursor<'_>,
    blank: bool,
    closing: bool,
    after_word: &dyn Fn() -> bool,
) -> Option<&'static str> {
    let written =
        cursor.take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':'), LONGEST_NAME);
    let (prefix, local) = match written.rsplit_once(':') {
        Some((prefix, local)) => (Some(known_prefix(prefix)?), local),
        None => (None, &*written),
    };
    if let Some((0, provider)) = prefix {
        return Some(provider);
    }
    if !blank && cursor.peek() == Some('|') {
        return half_barred(cursor, local);
    }
    let key = table_name(local);
    let token = TAGS.iter().find(|token| token.name.eq_ignore_ascii_case(&key))?;
    let fits = spelled(token, local, after_word) && follows(cursor, token, blank, closing);
    fits.then_some(token.provider)
}

/// Matches `<name|>`; the cursor is at the bar.
fn half_barred(mut cursor: Cursor<'_>, name: &str) -> Option<&'static str> {
    let closed = cursor.eat('|') && cursor.eat('>');
    let known = HALF_BARRED.contains(&&*table_name(name));
    (closed && known).then_some(HALF_BARRED_PROVIDER)
}

/// Returns the index and the provider of a name space.
fn known_prefix(prefix: &str) -> Option<(usize, &'static str)> {
    let position = TAG_PREFIXES.iter().position(|(known, _)| prefix.eq_ignore_ascii_case(known))?;
    TAG_PREFIXES.get(position).map(|(_, provider)| (position, *provider))
}

/// Returns a name as the tables write it; most tokens are written so.
fn table_name(written: &str) -> Cow<'_, str> {
    let differs = |byte: u8| byte.is_ascii_uppercase() || matches!(byte, b'-' | b' ');
    if written.bytes().any(differs) {
        Cow::Owned(written.to_ascii_lowercase().replace(['-', ' '], "_"))
    } else {
        Cow::Borrowed(written)
    }
}

fn spelled(token: &Token, written: &str, after_word: &dyn Fn() -> bool) -> bool {
    match token.case {
        Case::Any => true,
        Case::Exact => written == token.name,
        Case::Word => written == token.name || !could_be_identifier(written) || !after_word(),
    }
}

/// Returns whether it can be a type name (`System`) or an index (`inst`); a name in capitals is
/// neither.
fn could_be_identifier(written: &str) -> bool {
    written.chars().any(|c| c.is_ascii_lowercase())
}

/// Returns whether the text after the name makes it a tag.
fn follows(mut cursor: Cursor<'_>, token: &Token, blank: bool, closing: bool) -> bool {
    let next = cursor.peek();
    match token.form {
        Form::Open => !next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_'),
        Form::Bare => !blank && (cursor.eat('>') || (cursor.eat('/') && cursor.eat('>'))),
        Form::Named | Form::Assigned => {
            let apart = cursor.skip_blanks();
            match cursor.peek() {
                Some('>') => closing,
                Some('=') => !blank && !closing,
                _ => token.form == Form::Named && apart && !closing && is_name_attribute(cursor),
            }
        }
        Form::Tag => {
            let apart = skip_space(&mut cursor);
            match cursor.peek() {
                Some('>') => true,
                Some('/') => cursor.eat('/') && cursor.eat('>'),
                _ => apart && !blank && is_attribute(cursor),
            }
        }
    }
}

/// Attributes may be on the next line.
fn skip_space(cursor: &mut Cursor<'_>) -> bool {
    let blank = cursor.skip_blanks();
    if matches!(cursor.peek(), Some('\n' | '\r')) {
        while matches!(cursor.peek(), Some('\n' | '\r' | ' ' | '\t')) {
            cursor.bump();
        }
        return true;
    }
    blank
}

fn is_name_attribute(mut cursor: Cursor<'_>) -> bool {
    let name = cursor.take(|c| c.is_ascii_alphanumeric(), 5);
    cursor.skip_blanks();
    name.eq_ignore_ascii_case("name") && cursor.eat('=')
}

fn is_attribute(mut cursor: Cursor<'_>) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    if cursor.take(is_name, LONGEST_NAME).is_empty() {
        return false;
    }
    cursor.skip_blanks();
    matches!(cursor.peek(), Some('=' | '>' | '/'))
}

/// Matches the token after an opening `[`.
fn square(mut cursor: Cursor<'_>, after_word: &dyn Fn() -> bool) -> Option<&'static str> {
    cursor.skip_blanks();
    let closing = cursor.eat('/');
    cursor.skip_blanks();
    let written =
        cursor.take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'), LONGEST_NAME);
    let key = table_name(&written);
    let token = BRACKETS.iter().find(|token| token.name.eq_ignore_ascii_case(&key))?;
    cursor.skip_blanks();
    let follows = match token.form {
        Form::Open if !closing => cursor.eat(':'),
        _ => cursor.eat(']'),
    };
    (follows && spelled(token, &written, after_word)).then_some(token.provider)
}
