//! Rewords errors of the parser for people.

use toolcrib_core::similar_names::unknown_name;

/// Returns the parser's message without the values in it, and with the name that was probably
/// meant.
pub(super) fn plain_message(said: &str) -> String {
    // The message of serde about a choice that is not text.
    if said == "wanted string or table" {
        return "expected a text in quotes".to_owned();
    }
    for (begin, what) in [("unknown field ", "key"), ("unknown variant ", "word")] {
        if let Some(names) = said.strip_prefix(begin) {
            return unknown_name(what, names);
        }
    }
    let wrong =
        said.strip_prefix("invalid type: ").or_else(|| said.strip_prefix("invalid value: "));
    let Some(wrong) = wrong else { return said.to_owned() };
    // The value is between its kind and the last "expected".
    let kind = wrong.split(['"', '`', ',']).next().unwrap_or_default().trim();
    let expected = wrong.rsplit_once(", expected ").map_or("another value", |(_, what)| what);
    format!("expected {}, got {}", words_of_type(expected), words_of_type(kind))
}

/// Returns the user's word for a Rust type.
fn words_of_type(name: &str) -> &str {
    match name {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
        "f32" | "f64" => "a number",
        "a sequence" => "a list such as [\"one\", \"two\"]",
        "a boolean" => "true or false",
        "a string" => "a text in quotes",
        "socket address" => "an address and a port such as \"127.0.0.1:8717\"",
        "string" => "text",
        "integer" => "a whole number",
        "floating point" => "a number",
        "boolean" => "true or false",
        "sequence" => "a list",
        "map" => "a table",
        name if name.starts_with("struct ") || name == "a map" => "a table of keys",
        name => name,
    }
}
