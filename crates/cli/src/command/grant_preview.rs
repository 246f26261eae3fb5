//! Describes the calls that a remembered approval matches, in words and by past calls.

use serde_json::{Value, json};
use toolcrib_core::{Grant, GrantScope};
use toolcrib_ops::grants::{PastCalls, SCAN_LIMIT};

use super::lookup;
use crate::{terminal, time_format};

/// Maximum number of displayed past calls.
const DISPLAY_LIMIT: usize = 12;
/// Number of displayed digits of a hash.
const HASH_DIGITS: usize = 12;

/// Describes every call that this grant covers, in one sentence.
pub(crate) fn grant_text(grant: &Grant) -> String {
    let line = |text: &str| terminal::escape_to_line(text);
    let mut words = format!("every call of {}", line(&grant.operation));
    let args: Vec<String> = grant
        .args
        .iter()
        .map(|(name, glob)| format!("{} like {}", line(name), line(glob)))
        .collect();
    if !args.is_empty() {
        words += &format!(" with {}", args.join(" and "));
    }
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let reasons: Vec<String> = grant.reasons.iter().map(|kind| word(json!(kind))).collect();
    words += &format!(
        ", at risk {} or below, with this definition of the tool ({}), for reasons {}",
        word(json!(grant.risk)),
        short_hash(&grant.definition_hash),
        reasons.join(", ")
    );
    words
        + &match grant.scope {
            GrantScope::Once => ", this once".to_owned(),
            GrantScope::Run => {
                let run = grant.run.map(|run| run.to_string()).unwrap_or_default();
                format!(", for the rest of {run}")
            }
            GrantScope::Conversation => {
                let conversation = grant.conversation.as_deref().unwrap_or_default();
                format!(", for the rest of {}", line(conversation))
            }
            GrantScope::Always => ", until it is revoked".to_owned(),
        }
}

/// Returns the start of a hash.
pub(super) fn short_hash(hash: &str) -> &str {
    hash.get(..HASH_DIGITS).unwrap_or(hash)
}

/// Renders the past calls as lines for people.
pub(super) fn match_lines(matched: &PastCalls, now: i64) -> Vec<String> {
    let newest =
        if matched.truncated { format!(" of the newest {SCAN_LIMIT}") } else { String::new() };
    let mut lines = vec![match matched.calls.len() {
        0 => format!("no past call{newest} would have matched"),
        1 => format!("1 past call{newest} would have matched:"),
        count => format!("{count} past calls{newest} would have matched:"),
    }];
    for row in matched.calls.iter().take(DISPLAY_LIMIT) {
        lines.push(format!(
            "  {:>6} ago  {:<9}  {}",
            time_format::format_age(row.facts.received_at, now),
            lookup::status_word(lookup::call_status(row)),
            lookup::arguments_summary(row)
        ));
    }
    let more = matched.calls.len().saturating_sub(DISPLAY_LIMIT);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines
}

/// Returns a grant for machines.
pub(super) fn grant_json(grant: &Grant, matched: Option<&PastCalls>) -> Value {
    let calls = matched.map(|matched| {
        let ids = matched.calls.iter().take(DISPLAY_LIMIT).map(|row| row.facts.call);
        json!({"count": matched.calls.len(), "looked_at_newest": SCAN_LIMIT, "newest": ids.collect::<Vec<_>>()})
    });
    json!({"grant": grant, "matches": grant_text(grant), "past_calls": calls})
}
