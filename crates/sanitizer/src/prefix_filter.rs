//! The first two letters of every name in the token tables: a filter that skips benign brackets
//! quickly.
#![deny(clippy::indexing_slicing)]

use super::control_tokens::{BRACKETS, HALF_BARRED, TAG_PREFIXES, TAGS, Token};

/// The first two letters of names, ignoring case.
pub(super) struct PrefixFilter([u32; 32]);

impl PrefixFilter {
    #[expect(clippy::indexing_slicing, reason = "a five-bit index into 32 rows")]
    const fn with(mut self, name: &[u8]) -> Self {
        if let [first, second, ..] = name {
            self.0[(*first & 31) as usize] |= 1 << (*second & 31);
        }
        self
    }

    #[expect(clippy::indexing_slicing, reason = "runs at compile time, where it fails the build")]
    const fn with_tokens(mut self, tokens: &[Token]) -> Self {
        let mut i = 0;
        while i < tokens.len() {
            self = self.with(tokens[i].name.as_bytes());
            i += 1;
        }
        self
    }

    /// Returns whether a name may begin with these two letters.
    pub(super) fn has(&self, first: u8, second: u8) -> bool {
        let row = self.0.get(usize::from(first & 31)).copied().unwrap_or(0);
        first.is_ascii_alphabetic() && row >> (second & 31) & 1 == 1
    }
}

/// The prefixes of the names in angle brackets.
#[expect(clippy::indexing_slicing, reason = "runs at compile time, where it fails the build")]
pub(super) static ANGLE_PREFIXES: PrefixFilter = {
    let mut starts = PrefixFilter([0; 32]).with_tokens(TAGS).with(b"s>").with(b"s/");
    let mut i = 0;
    while i < TAG_PREFIXES.len() {
        starts = starts.with(TAG_PREFIXES[i].0.as_bytes());
        i += 1;
    }
    i = 0;
    while i < HALF_BARRED.len() {
        starts = starts.with(HALF_BARRED[i].as_bytes());
        i += 1;
    }
    starts
};

/// The prefixes of the names in square brackets.
pub(super) static SQUARE_PREFIXES: PrefixFilter = PrefixFilter([0; 32]).with_tokens(BRACKETS);
