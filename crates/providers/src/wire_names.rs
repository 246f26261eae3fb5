//! Tool names on the wire: maps canonical names to names that a provider accepts, and back.

use std::borrow::Cow;
use std::collections::HashMap;

use toolcrib_core::canonical_json;

use crate::wire_format::Format;

/// Maps canonical names to wire names and back. Most names are the same in both; the same set of
/// names always gives the same map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameMap {
    to_wire: HashMap<String, String>,
    from_wire: HashMap<String, String>,
}

impl NameMap {
    /// Creates the wire names of these tools. A name that the provider accepts stays unchanged. In
    /// any other name, invalid characters become `_` and a hash of the original is appended, longer
    /// if two names collide.
    #[must_use]
    pub fn new<'a>(format: Format, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut map = Self::default();
        let mut odd = Vec::new();
        for name in names {
            if is_valid(format, name) {
                map.insert(name, name.to_owned());
            } else {
                odd.push(name);
            }
        }
        for name in odd {
            if map.to_wire.contains_key(name) {
                continue;
            }
            let wire = (1..=7)
                .map(|n| mangle(format, name, n * 8))
                .find(|wire| !map.from_wire.contains_key(wire));
            if let Some(wire) = wire {
                map.insert(name, wire);
            }
        }
        map
    }

    fn insert(&mut self, name: &str, wire: String) {
        self.from_wire.insert(wire.clone(), name.to_owned());
        self.to_wire.insert(name.to_owned(), wire);
    }

    /// Registers the call type of a provider-defined tool; a declared name takes precedence.
    pub(crate) fn add_call_type(&mut self, call_type: &str, name: &str) {
        self.from_wire.entry(call_type.to_owned()).or_insert_with(|| name.to_owned());
    }

    /// Returns the wire name of a tool in the map.
    #[must_use]
    pub fn wire(&self, name: &str) -> Option<&str> {
        self.to_wire.get(name).map(String::as_str)
    }

    /// Returns the canonical name of a call: pass [`crate::ModelCall::name`], and use that name
    /// itself if the result is `None`.
    #[must_use]
    pub fn original(&self, wire: &str) -> Option<&str> {
        self.from_wire.get(wire).map(String::as_str)
    }
}

/// Returns the maximum length of a name: OpenAI 64, Anthropic 128, Gemini 64 on older models.
fn max_length(format: Format) -> usize {
    if format == Format::Anthropic { 128 } else { 64 }
}

/// Returns the wire name of a single tool, without a map: a valid name is unchanged, another one is
/// mangled as by [`NameMap::new`].
pub(crate) fn wire_name(format: Format, name: &str) -> Cow<'_, str> {
    if is_valid(format, name) { name.into() } else { mangle(format, name, 8).into() }
}

/// Returns whether the provider accepts this tool name.
pub(crate) fn is_valid(format: Format, name: &str) -> bool {
    let first_fits = format != Format::Gemini
        || name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    !name.is_empty()
        && name.len() <= max_length(format)
        && first_fits
        && name.bytes().all(|b| fits(format, b))
}

fn fits(format: Format, byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'-')
        || (format == Format::Gemini && matches!(byte, b'.' | b':'))
}

fn mangle(format: Format, name: &str, digits: usize) -> String {
    let hash: String = canonical_json::sha256_parts(&[name]).chars().take(digits).collect();
    let replaced = name.chars().map(|c| match u8::try_from(c) {
        Ok(byte) if c.is_ascii() && fits(format, byte) => c,
        _ => '_',
    });
    let lead = if is_valid(format, name.get(..1).unwrap_or("_")) { "" } else { "_" };
    let room = max_length(format) - hash.len() - 1;
    let head: String = lead.chars().chain(replaced).take(room).collect();
    format!("{head}_{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(format: Format, name: &str, wire: &str) {
        let map = NameMap::new(format, [name]);
        assert_eq!(map.wire(name), Some(wire));
        assert_eq!(wire_name(format, name), wire);
        assert_eq!(map.original(wire), Some(name));
    }

    #[test]
    fn names_that_fit_stay() {
        for format in Format::ALL {
            check(format, "read_file", "read_file");
            check(format, "github__create-issue", "github__create-issue");
        }
        check(Format::Gemini, "a.b:c", "a.b:c");
        check(Format::Anthropic, &"x".repeat(100), &"x".repeat(100));
    }

    #[test]
    fn names_that_do_not_fit_get_a_hash() {
        check(Format::OpenAiChat, "server.tool", "server_tool_6ea894c8");
        check(Format::Gemini, "3d__print", "_3d__print_387bd0e4");
        let long = "n".repeat(80);
        let map = NameMap::new(Format::OpenAiChat, [long.as_str()]);
        assert_eq!(map.wire(&long).unwrap().len(), 64);
        // A valid name that equals another name's mangled form stays unchanged.
        let map = NameMap::new(Format::OpenAiChat, ["server.tool", "server_tool_6ea894c8"]);
        assert_eq!(map.original("server_tool_6ea894c8"), Some("server_tool_6ea894c8"));
        assert_eq!(map.original(map.wire("server.tool").unwrap()), Some("server.tool"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn every_set_of_names_maps_there_and_back(
            names in prop::collection::hash_set("[a-cé._:-]{1,5}|[a-b.]{60,70}", 1..20),
        ) {
            for format in Format::ALL {
                let map = NameMap::new(format, names.iter().map(String::as_str));
                for name in &names {
                    let wire = map.wire(name).unwrap();
                    prop_assert!(is_valid(format, wire), "{wire}");
                    prop_assert_eq!(map.original(wire), Some(name.as_str()));
                }
            }
        }
    }
}
