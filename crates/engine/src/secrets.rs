//! Masks the exact values of configured secrets, wherever a text or a stream holds them (DESIGN 5, Secrets).

use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

/// What stands in place of a secret.
const MASK: &str = "***";

/// Shorter values cannot be masked without damage to honest text (reliability research, 4.3: 8 characters).
const SHORTEST: usize = 8;

/// Known secrets. Where one begins another, the longer one is found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets {
    known: Option<Arc<(AhoCorasick, usize)>>,
}

impl Secrets {
    /// These values; too short ones are left out.
    pub(crate) fn new<'a>(values: impl Iterator<Item = &'a String>) -> Self {
        let values: Vec<&String> = values.filter(|value| value.len() >= SHORTEST).collect();
        let longest = values.iter().map(|value| value.len()).max();
        let known = longest.and_then(|longest| {
            let found = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values);
            Some(Arc::new((found.ok()?, longest)))
        });
        Self { known }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_none()
    }

    /// A text without secrets.
    pub(crate) fn mask(&self, text: String) -> String {
        match &self.known {
            Some(known) if known.0.is_match(&text) => {
                let mut masked = String::with_capacity(text.len());
                known.0.replace_all_with(&text, &mut masked, |_, _, out| {
                    out.push_str(MASK);
                    true
                });
                masked
            }
            _ => text,
        }
    }

    /// Data without secrets, in keys and texts.
    pub(crate) fn mask_data(&self, data: &Value) -> Value {
        match data {
            Value::String(text) => Value::String(self.mask(text.clone())),
            Value::Array(items) => items.iter().map(|item| self.mask_data(item)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, inner)| (self.mask(key.clone()), self.mask_data(inner)))
                .collect(),
            scalar => scalar.clone(),
        }
    }

    /// Masks a stream that comes in pieces.
    pub(crate) fn stream(&self) -> StreamMask {
        StreamMask { secrets: self.clone(), held: Vec::new() }
    }
}

/// Masks secrets in a stream, also where one is split between two pieces: what could be the beginning of one is held back.
#[derive(Debug)]
pub(crate) struct StreamMask {
    secrets: Secrets,
    held: Vec<u8>,
}

impl StreamMask {
    /// What of the stream can be shown by now.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let longest = self.secrets.known.as_ref().map_or(1, |known| known.1);
        self.take(self.held.len().saturating_sub(longest - 1))
    }

    /// The rest of it.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        self.take(self.held.len())
    }

    /// Takes what begins before `safe`: whatever follows, a secret that begins there is here whole.
    fn take(&mut self, safe: usize) -> Vec<u8> {
        let Some(known) = &self.secrets.known else { return std::mem::take(&mut self.held) };
        let (mut out, mut from) = (Vec::with_capacity(safe), 0);
        for found in known.0.find_iter(&self.held).take_while(|found| found.start() < safe) {
            out.extend_from_slice(self.held.get(from..found.start()).unwrap_or_default());
            out.extend_from_slice(MASK.as_bytes());
            from = found.end();
        }
        let end = safe.max(from);
        out.extend_from_slice(self.held.get(from..end).unwrap_or_default());
        self.held.drain(..end);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        let values = ["s3cr3t-value".to_owned(), "s3cr3t-value-2".to_owned(), "short".to_owned()];
        Secrets::new(values.iter())
    }

    #[test]
    fn texts_and_data_are_masked() {
        assert_eq!(secrets().mask("a s3cr3t-value-2 b short".into()), "a *** b short");
        let data = serde_json::json!({"s3cr3t-value": ["x\"s3cr3t-value\\", 1]});
        assert_eq!(secrets().mask_data(&data), serde_json::json!({"***": ["x\"***\\", 1]}));
        assert_eq!(Secrets::default().mask("s3cr3t-value".into()), "s3cr3t-value");
    }

    #[test]
    fn a_stream_is_masked_however_it_is_cut() {
        let whole = b"key=s3cr3t-value; again s3cr3t-value-2 and s3cr3t-val";
        for cut in 0..whole.len() {
            let mut mask = secrets().stream();
            let mut out = mask.pass(&whole[..cut]);
            out.extend(mask.pass(&whole[cut..]));
            out.extend(mask.finish());
            assert_eq!(out, b"key=***; again *** and s3cr3t-val", "cut at {cut}");
        }
    }
}
