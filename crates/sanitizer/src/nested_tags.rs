//! Tags inside a tool call: with any name, they are parts of the call (`<name>`, `<path>`) or
//! separate calls, so they are escaped with the call around them.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::control_token_scan::TokenMatch;
use super::control_tokens::{CALL_CONTAINERS, TAG_PREFIXES};

/// Number of bytes after the opening tag of an unclosed call that count as its inside: such a tag
/// is truncated, or only mentioned.
const UNCLOSED: usize = 4_096;

/// Longest tag, in bytes.
const LONGEST_TAG: usize = 256;

/// Adds the tags inside calls to the tokens found, which are in order.
pub(super) fn find_nested_tags(text: &str, found: &mut Vec<TokenMatch>) {
    let regions = call_regions(text, found);
    if regions.is_empty() {
        return;
    }
    let mut nested = Vec::new();
    for (start, end) in regions {
        let inner = text.get(start..end).unwrap_or("");
        for at in memchr::memchr_iter(b'<', inner.as_bytes()) {
            if is_tag(byte_scan::text_from(inner, at + 1)) {
                nested.push(TokenMatch { at: start + at + 1, provider: "any" });
            }
        }
    }
    found.extend(nested);
    // Keeps the provider of a known token.
    found.sort_by_key(|token| (token.at, token.provider == "any"));
    found.dedup_by_key(|token| token.at);
}

/// Returns the insides of the outermost calls, as byte ranges in order.
fn call_regions(text: &str, found: &[TokenMatch]) -> Vec<(usize, usize)> {
    let mut regions = Vec::new();
    let (mut depth, mut start, mut last_end) = (0_usize, 0, 0);
    for token in found {
        match container(byte_scan::text_from(text, token.at)) {
            Some(Edge::Open) => {
                if depth == 0 {
                    (start, last_end) = (token.at, token.at);
                }
                depth += 1;
            }
            Some(Edge::Close) if depth > 0 => {
                depth -= 1;
                last_end = token.at;
                if depth == 0 {
                    regions.push((start, token.at));
                }
            }
            _ => {}
        }
    }
    if depth > 0 {
        let end = text.floor_char_boundary((start + UNCLOSED).max(last_end).min(text.len()));
        regions.push((start, end));
    }
    regions
}

enum Edge {
    Open,
    Close,
}

/// Returns whether the tag with this content opens or closes a call.
fn container(inside: &str) -> Option<Edge> {
    let (edge, rest) = match inside.trim_start().strip_prefix('/') {
        Some(rest) => (Edge::Close, rest.trim_start()),
        None => (Edge::Open, inside.trim_start()),
    };
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
    let name = byte_scan::text_before(rest, end);
    let local = match name.split_once(':') {
        Some((prefix, local))
            if TAG_PREFIXES.iter().any(|(p, _)| prefix.eq_ignore_ascii_case(p)) =>
        {
            local
        }
        _ => name,
    };
    let same = |known: &&str| {
        known.len() == local.len()
            && known.bytes().zip(local.bytes()).all(|(known, written)| {
                known == written.to_ascii_lowercase() || (known == b'_' && written == b'-')
            })
    };
    CALL_CONTAINERS.iter().any(same).then_some(edge)
}

/// Returns whether this text after a `<` forms a tag.
fn is_tag(rest: &str) -> bool {
    // With a blank before the name, only text without attributes is a tag: `a < b && c > d`.
    let is_apart = rest.starts_with([' ', '\t']);
    let rest = rest.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix('/').unwrap_or(rest).trim_start_matches([' ', '\t']);
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return false;
    }
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
    let after = rest.trim_start_matches(is_part);
    match after.chars().next() {
        Some('>' | '=' | '/') => true,
        Some(' ' | '\t') if is_apart => {
            after.trim_start_matches([' ', '\t']).starts_with(['>', '/'])
        }
        Some(' ' | '\t' | '\r' | '\n') => {
            let near = byte_scan::text_before(after, after.floor_char_boundary(LONGEST_TAG));
            near.split('<').next().is_some_and(|tag| tag.contains('>'))
        }
        _ => false,
    }
}
