//! The set of known secrets, and masking of complete texts and data.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use serde_json::Value;
use zeroize::Zeroizing;

use super::encoded_forms;
use super::mask_json;
use super::scanner::{self, SecretMatcher};
use super::stream_mask::StreamMask;

/// Minimum length of a masked value (8 bytes): shorter values cannot be masked without damage to
/// ordinary text.
pub(super) const SHORTEST: usize = scanner::PREFIX;

/// The set of known secrets. Clones share the set.
#[derive(Clone, Default)]
pub struct Secrets {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    known: ArcSwapOption<SecretMatcher>,
    values: Mutex<Vec<Zeroizing<String>>>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Adds values, except those shorter than 8 bytes without surrounding whitespace.
    pub fn add<'a>(&self, values: impl IntoIterator<Item = &'a str>) {
        let mut known = self.inner.values.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.len();
        for value in values.into_iter().filter(|value| value.trim().len() >= SHORTEST) {
            if !known.iter().any(|old| old.as_str() == value) {
                known.push(Zeroizing::new(value.to_owned()));
            }
        }
        if known.len() > before {
            let all: BTreeSet<Vec<u8>> =
                known.iter().flat_map(|value| encoded_forms::encoded_forms(value)).collect();
            self.inner.known.store(SecretMatcher::new(all).map(Arc::new));
        }
    }

    /// Returns whether no secret is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.known.load().is_none()
    }

    /// Returns whether a text contains a secret in any form.
    #[must_use]
    pub fn occurs_in(&self, text: &str) -> bool {
        self.inner.known.load().as_ref().is_some_and(|known| known.occurs_in(text.as_bytes()))
    }

    /// Returns the text with secrets masked.
    #[must_use]
    pub fn mask(&self, text: String) -> String {
        match self.masked(text.as_bytes()) {
            // Forms consist of whole characters, so the rest consists of whole characters too.
            Some(masked) => String::from_utf8(masked)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            None => text,
        }
    }

    /// Returns the bytes with secrets masked; `None` if they contain none.
    pub(crate) fn masked(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let known = self.inner.known.load();
        let known = known.as_ref().filter(|known| known.may_occur_in(bytes))?;
        let mut out = Vec::with_capacity(bytes.len());
        known.mask_into(bytes, 0, true, &mut out);
        (out != bytes).then_some(out)
    }

    /// Returns the data with secrets masked in keys, texts and numbers.
    #[must_use]
    pub fn mask_json(&self, data: &Value) -> Value {
        if self.is_empty() {
            return data.clone();
        }
        mask_json::mask_json(data, &|text| {
            self.masked(text.as_bytes()).map(|_| self.mask(text.to_owned()))
        })
    }

    /// Returns whether data contains a secret in any form, in a key, a text or a number.
    #[must_use]
    pub fn occurs_in_json(&self, data: &Value) -> bool {
        match data {
            Value::String(text) => self.occurs_in(text),
            Value::Array(items) => items.iter().any(|item| self.occurs_in_json(item)),
            Value::Object(map) => {
                map.iter().any(|(key, inner)| self.occurs_in(key) || self.occurs_in_json(inner))
            }
            Value::Number(number) => !self.is_empty() && self.occurs_in(&number.to_string()),
            Value::Null | Value::Bool(_) => false,
        }
    }

    /// Creates a masker for a stream in pieces, with the secrets known now.
    #[must_use]
    pub fn stream(&self) -> StreamMask {
        StreamMask::new(self.inner.known.load_full())
    }
}
