//! Masks secrets wherever a text or a stream holds them, also encoded or split (DESIGN 5, Secrets; reliability research, 4.3).
//!
//! Invariants
//! - What is known only grows: a value that was a secret once is masked as long as the process lives.
//! - A text without secrets costs one look for beginnings, and is not copied; where no secret is known, nothing at all.
//! - A stream is masked as its whole would be, however it is cut.
//!
//! Absent on purpose: guesses from the shape of a text. Those are no secrets of ours, and would be wrong in honest texts.
#![deny(clippy::indexing_slicing)]

mod escape;
mod forms;
mod masked;
mod scan;
mod sealing;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use serde_json::Value;
use zeroize::Zeroizing;

use self::scan::Known;

pub(crate) use masked::restore;
pub use sealing::Sealing;

/// Shorter values cannot be masked without damage to honest text (reliability research, 4.3: 8 characters).
const SHORTEST: usize = scan::PREFIX;

/// The secrets that are known. Clones are the same.
#[derive(Clone, Default)]
pub struct Secrets {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    known: ArcSwapOption<Known>,
    values: Mutex<Vec<Zeroizing<String>>>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Adds values; those shorter than 8 bytes, blanks around them aside, are left out.
    pub fn learn<'a>(&self, values: impl IntoIterator<Item = &'a str>) {
        let mut known = self.inner.values.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.len();
        for value in values.into_iter().filter(|value| value.trim().len() >= SHORTEST) {
            if !known.iter().any(|old| old.as_str() == value) {
                known.push(Zeroizing::new(value.to_owned()));
            }
        }
        if known.len() > before {
            let all: BTreeSet<Vec<u8>> = known.iter().flat_map(|value| forms::of(value)).collect();
            self.inner.known.store(Known::new(all).map(Arc::new));
        }
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.known.load().is_none()
    }

    /// Whether a text holds a secret in any form.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        self.inner.known.load().as_ref().is_some_and(|known| known.is_in(text.as_bytes()))
    }

    /// A text without secrets.
    #[must_use]
    pub fn mask(&self, text: String) -> String {
        match self.masked(text.as_bytes()) {
            // Forms are whole characters, so what is left are whole characters too.
            Some(masked) => String::from_utf8(masked)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            None => text,
        }
    }

    /// Bytes without secrets; `None` = there is none in them.
    pub(crate) fn masked(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let known = self.inner.known.load();
        let known = known.as_ref().filter(|known| known.may_be_in(bytes))?;
        let mut out = Vec::with_capacity(bytes.len());
        known.read(bytes, 0, true, &mut out);
        (out != bytes).then_some(out)
    }

    /// Data without secrets, in keys, texts and numbers.
    #[must_use]
    pub fn mask_data(&self, data: &Value) -> Value {
        if self.is_empty() {
            return data.clone();
        }
        masked::data(data, &|text| self.masked(text.as_bytes()).map(|_| self.mask(text.to_owned())))
    }

    /// Whether data holds a secret in any form, in a key, a text or a number.
    #[must_use]
    pub fn is_in_data(&self, data: &Value) -> bool {
        match data {
            Value::String(text) => self.is_in(text),
            Value::Array(items) => items.iter().any(|item| self.is_in_data(item)),
            Value::Object(map) => {
                map.iter().any(|(key, inner)| self.is_in(key) || self.is_in_data(inner))
            }
            Value::Number(number) => !self.is_empty() && self.is_in(&number.to_string()),
            Value::Null | Value::Bool(_) => false,
        }
    }

    /// Masks a stream that comes in pieces, by the secrets that are known now.
    #[must_use]
    pub fn stream(&self) -> StreamMask {
        StreamMask { known: self.inner.known.load_full(), held: Vec::new(), covered: 0 }
    }
}

/// Masks secrets in a text that comes in pieces; what is shown of it are whole characters.
pub struct TextMask {
    mask: StreamMask,
    /// The beginning of a character whose end has not come.
    part: Vec<u8>,
}

impl TextMask {
    /// By the secrets that are known now.
    #[must_use]
    pub fn new(secrets: &Secrets) -> Self {
        Self { mask: secrets.stream(), part: Vec::new() }
    }

    /// What of the text can be shown by now.
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

    /// The rest of it.
    pub fn finish(&mut self) -> String {
        let more = self.mask.finish();
        self.part.extend(more);
        String::from_utf8_lossy(&std::mem::take(&mut self.part)).into_owned()
    }
}

/// Masks secrets in a stream, also where one is split between pieces: what could be the beginning of one is held back.
pub struct StreamMask {
    known: Option<Arc<Known>>,
    held: Vec<u8>,
    /// Bytes of what is held whose mask was shown already.
    covered: usize,
}

impl StreamMask {
    /// What of the stream can be shown by now.
    pub fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        self.take(false)
    }

    /// The rest of it.
    pub fn finish(&mut self) -> Vec<u8> {
        self.take(true)
    }

    fn take(&mut self, last: bool) -> Vec<u8> {
        let Some(known) = &self.known else { return std::mem::take(&mut self.held) };
        let mut out = Vec::with_capacity(self.held.len());
        let read = known.read(&self.held, self.covered, last, &mut out);
        self.held.drain(..read.done);
        self.covered = read.covered;
        out
    }
}
