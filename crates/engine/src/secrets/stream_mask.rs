//! Masks secrets in texts and streams that arrive in pieces.

use std::sync::Arc;

use super::known_secrets::Secrets;
use super::scanner::SecretMatcher;

/// Masks secrets in a text that arrives in pieces; the output consists of whole characters.
pub struct TextMask {
    mask: StreamMask,
    /// The beginning of an incomplete character.
    part: Vec<u8>,
}

impl TextMask {
    /// Creates a masker with the secrets known now.
    #[must_use]
    pub fn new(secrets: &Secrets) -> Self {
        Self { mask: secrets.stream(), part: Vec::new() }
    }

    /// Accepts a piece and returns the text that can be shown so far.
    pub fn pass(&mut self, text: &str) -> String {
        let more = self.mask.pass(text.as_bytes());
        self.part.extend(more);
        let whole = match std::str::from_utf8(&self.part) {
            Ok(_) => self.part.len(),
            Err(error) => error.valid_up_to(),
        };
        let shown = self.part.drain(..whole).collect();
        String::from_utf8(shown).unwrap_or_default()
    }

    /// Returns the rest.
    pub fn finish(&mut self) -> String {
        let more = self.mask.finish();
        self.part.extend(more);
        String::from_utf8_lossy(&std::mem::take(&mut self.part)).into_owned()
    }
}

/// Masks secrets in a stream, even if one is split between pieces: a possible beginning of a secret
/// is held back.
pub struct StreamMask {
    pub(super) known: Option<Arc<SecretMatcher>>,
    held: Vec<u8>,
    /// Held-back bytes whose mask was already returned.
    covered: usize,
}

impl StreamMask {
    pub(super) fn new(known: Option<Arc<SecretMatcher>>) -> Self {
        Self { known, held: Vec::new(), covered: 0 }
    }

    /// Accepts bytes and returns those that can be shown so far.
    pub fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        self.take(false)
    }

    /// Returns the rest.
    pub fn finish(&mut self) -> Vec<u8> {
        self.take(true)
    }

    fn take(&mut self, last: bool) -> Vec<u8> {
        let Some(known) = &self.known else { return std::mem::take(&mut self.held) };
        let mut out = Vec::with_capacity(self.held.len());
        let read = known.mask_into(&self.held, self.covered, last, &mut out);
        self.held.drain(..read.done);
        self.covered = read.covered;
        out
    }
}
