//! Interprets the answer to a heartbeat.

/// The answer of a model that has nothing to report.
pub const HEARTBEAT_OK: &str = "HEARTBEAT_OK";
/// Maximum characters of a pushed report.
const PUSH_CHARS: usize = 240;
/// A report is cut at the end of a word if one is among this many last characters.
const WORD_CHARS: usize = 40;

/// Returns whether an answer reports nothing: it contains [`HEARTBEAT_OK`], or is blank.
#[must_use]
pub fn is_ok(answer: &str) -> bool {
    answer.contains(HEARTBEAT_OK) || answer.trim().is_empty()
}

/// Shortens a report for a push: at most 240 characters, cut at the end of a word if one is among
/// the last 40, then "…".
#[must_use]
pub fn push_text(answer: &str) -> String {
    let answer = answer.trim();
    if answer.chars().count() <= PUSH_CHARS {
        return answer.to_owned();
    }
    let kept: Vec<char> = answer.chars().take(PUSH_CHARS - 1).collect();
    // The last word is complete if a space follows the kept text.
    let next_is_space = answer.chars().nth(kept.len()).is_some_and(char::is_whitespace);
    let last_space = kept.iter().rposition(|c| c.is_whitespace());
    let cut = match last_space {
        _ if next_is_space => kept.len(),
        Some(at) if at + WORD_CHARS >= kept.len() => at,
        _ => kept.len(),
    };
    let text: String = kept.into_iter().take(cut).collect();
    format!("{}…", text.trim_end())
}
