//! Suggestions for misspelled names in error messages.

pub(super) use toolcrib_core::similar_names::{likely_typos, similar_names};

/// Returns `; did you mean "a", "b"?`, or an empty text.
pub(super) fn did_you_mean(names: &[&str]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("; did you mean {}?", quoted.join(", "))
}

/// Shortens a name for a message.
pub(super) fn quote_name(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
