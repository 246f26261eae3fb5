//! What a remembered approval matches, in words and by what was called before.

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_app::core::{CallFilter, CallRow, Grant, GrantScope};

use super::past;
use crate::output::Failure;
use crate::{terminal, when};

/// Past calls that are looked at, the newest.
const LOOKED_AT: usize = 1_000;
/// Past calls that are shown.
const SHOWN: usize = 12;
/// Digits of a hash that are shown.
const DIGITS: usize = 12;

/// Past calls that a grant would have matched.
pub(super) struct Matched {
    /// The newest first.
    pub(super) calls: Vec<CallRow>,
    /// Whether more calls were there than were looked at.
    pub(super) is_cut: bool,
}

/// Every call that this grant answers for, in one sentence.
pub(super) fn words(grant: &Grant) -> String {
    let line = |text: &str| terminal::one_line(text);
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
        hash(&grant.definition_hash),
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

/// The beginning of a hash.
pub(super) fn hash(hash: &str) -> &str {
    hash.get(..DIGITS).unwrap_or(hash)
}

/// The calls that were made so far and that this grant would have answered for.
///
/// # Errors
/// Exit code 1 when the history cannot be read.
pub(super) async fn matched(stores: &Stores, grant: &Grant) -> Result<Matched, Failure> {
    let filter = CallFilter {
        owner: grant.owner.clone(),
        operation: Some(grant.operation.clone()),
        run: grant.run.filter(|_| grant.scope == GrantScope::Run),
        conversation: grant
            .conversation
            .clone()
            .filter(|_| grant.scope == GrantScope::Conversation),
        limit: LOOKED_AT,
        ..CallFilter::default()
    };
    let rows = stores.history.calls(filter).await.map_err(past::store)?;
    let is_cut = rows.len() >= LOOKED_AT;
    let calls = rows.into_iter().filter(|row| would_match(grant, row)).collect();
    Ok(Matched { calls, is_cut })
}

fn would_match(grant: &Grant, row: &CallRow) -> bool {
    let facts = &row.facts;
    let args: Option<Value> =
        facts.args.as_deref().and_then(|args| serde_json::from_str(args).ok());
    // Arguments that are too long to be kept are known only where they do not matter.
    let fits = grant.args.is_empty() || args.is_some_and(|args| grant.fits(&args));
    fits && facts.definition_hash.as_deref() == Some(grant.definition_hash.as_str())
        && facts.risk.is_none_or(|risk| risk <= grant.risk)
}

/// The past calls, as lines for people.
pub(super) fn lines(matched: &Matched, now: i64) -> Vec<String> {
    let newest = if matched.is_cut { format!(" of the newest {LOOKED_AT}") } else { String::new() };
    let mut lines = vec![match matched.calls.len() {
        0 => format!("no past call{newest} would have matched"),
        1 => format!("1 past call{newest} would have matched:"),
        count => format!("{count} past calls{newest} would have matched:"),
    }];
    for row in matched.calls.iter().take(SHOWN) {
        lines.push(format!(
            "  {:>6} ago  {:<9}  {}",
            when::age(row.facts.received_at, now),
            past::status_word(past::status(row)),
            past::about(row)
        ));
    }
    let more = matched.calls.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines
}

/// A grant for machines.
pub(super) fn machine(grant: &Grant, matched: Option<&Matched>) -> Value {
    let calls = matched.map(|matched| {
        let ids = matched.calls.iter().take(SHOWN).map(|row| row.facts.call);
        json!({"count": matched.calls.len(), "looked_at_newest": LOOKED_AT, "newest": ids.collect::<Vec<_>>()})
    });
    json!({"grant": grant, "matches": words(grant), "past_calls": calls})
}
