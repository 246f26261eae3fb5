//! Code fences in which some models write calls (```` ```tool_call ````): a backslash is inserted
//! into the name.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::control_token_scan::TokenMatch;
use super::control_tokens::CALL_FENCES;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// Longest name that is looked up, in bytes.
const LONGEST_NAME: usize = 24;

/// The fences. Preparing a search takes longer than searching a short string.
static FENCES: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| [Finder::new("```"), Finder::new("~~~")]);

/// Adds the byte positions before which backslashes are inserted.
pub(super) fn find_call_fences(text: &str, found: &mut Vec<TokenMatch>) {
    for fence in &*FENCES {
        for at in fence.find_iter(text.as_bytes()) {
            let line = byte_scan::text_before(text, at);
            let line = line.rsplit('\n').next().unwrap_or("");
            // Lists and quotes indent a fence; after other text it is not a fence.
            let opens = line.len() <= 64
                && line.chars().all(|c| c.is_whitespace() || matches!(c, '>' | '-' | '*' | '+'));
            if !opens {
                continue;
            }
            let rest = byte_scan::text_from(text, at + fence.needle().len());
            let info = rest.trim_start_matches(['`', '~', ' ', '\t', '{', '.']);
            let near = byte_scan::text_before(info, info.floor_char_boundary(LONGEST_NAME));
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let end = near.find(|c: char| !is_part(c)).unwrap_or(near.len());
            let name = byte_scan::text_before(near, end).to_ascii_lowercase().replace('-', "_");
            if let Some((_, provider)) = CALL_FENCES.iter().find(|(known, _)| *known == name) {
                found.push(TokenMatch { at: text.len() - info.len(), provider });
            }
        }
    }
}
