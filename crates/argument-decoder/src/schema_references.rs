//! Local references: `#`, `#/json/pointer` and `#anchor`.
#![deny(clippy::indexing_slicing)]

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::Value;

use super::changes::push_index;
use super::schema::SchemaError;
use super::value_preview::shorten;

/// Returns the identity of a value inside one document: its address, which is stable while the
/// document is shared.
pub(super) fn identity(value: &Value) -> usize {
    std::ptr::from_ref(value) as usize
}

/// Maps the name of an anchor to its location and value.
type AnchorMap<'s> = HashMap<&'s str, (String, &'s Value)>;

/// A document with resolvable references. Anchors are collected at the first use of one.
pub(super) struct Document<'s> {
    root: &'s Value,
    anchors: OnceCell<AnchorMap<'s>>,
}

impl<'s> Document<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, anchors: OnceCell::new() }
    }

    /// Returns the value that a reference names, and its location as a pointer fragment.
    pub(super) fn resolve(&self, reference: &str) -> Result<(&'s Value, String), SchemaError> {
        let shown = || shorten(reference, 100).into_owned();
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(SchemaError::RemoteReference { reference: shown() });
        };
        let unresolved = || SchemaError::UnresolvedReference { reference: shown() };
        let fragment = percent_decode(fragment).ok_or_else(unresolved)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            let target = self.root.pointer(&fragment).ok_or_else(unresolved)?;
            return Ok((target, format!("#{fragment}")));
        }
        let anchors = self.anchors.get_or_init(|| {
            let mut places = AnchorMap::new();
            collect(self.root, &mut String::from("#"), &mut places);
            places
        });
        let (at, target) = anchors.get(fragment.as_str()).ok_or_else(unresolved)?;
        Ok((target, at.clone()))
    }
}

/// Collects anchors from the whole document, including places that are not schemas: only a
/// reference to one of them uses it.
fn collect<'s>(value: &'s Value, at: &mut String, places: &mut AnchorMap<'s>) {
    let length = at.len();
    match value {
        Value::Object(map) => {
            let old_style =
                map.get("$id").and_then(Value::as_str).and_then(|id| id.strip_prefix('#'));
            let named =
                ["$anchor", "$dynamicAnchor"].map(|key| map.get(key).and_then(Value::as_str));
            for name in named.into_iter().flatten().chain(old_style) {
                places.entry(name).or_insert_with(|| (at.clone(), value));
            }
            for (key, item) in map {
                push_segment(at, key);
                collect(item, at, places);
                at.truncate(length);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                push_index(at, index);
                collect(item, at, places);
                at.truncate(length);
            }
        }
        _ => {}
    }
}

/// Appends a whole pointer segment: unlike in reports, it is not shortened.
pub(super) fn push_segment(at: &mut String, key: &str) {
    at.push('/');
    for c in key.chars() {
        match c {
            '~' => at.push_str("~0"),
            '/' => at.push_str("~1"),
            c => at.push(c),
        }
    }
}

fn percent_decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |b: Option<u8>| char::from(b?).to_digit(16);
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
