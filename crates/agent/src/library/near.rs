//! Names that may be meant, and how a wrong one is said.

pub(super) use toolcrib_core::near::{nearest, slips};

/// `; did you mean "a", "b"?`, or nothing.
pub(super) fn did_you_mean(names: &[&str]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("; did you mean {}?", quoted.join(", "))
}

/// A text as it is shown in a message: short.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
