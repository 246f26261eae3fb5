//! Truncation of outgoing copies: truncates texts in the middle and large results, with a note of
//! the removed amount.

use std::borrow::Cow;

use serde_json::Value;
use toolcrib_providers::conversation::{CallAnswer, ModelMessage};

use super::token_estimate;

/// Characters of a result that always stay: enough to recognize it.
const LEAST: usize = 400;

/// Attempts to truncate just enough before a result is truncated to [`LEAST`].
const ATTEMPTS: usize = 4;

/// Returns a text of at most `most` characters: its beginning and end, with the count of removed
/// characters between them. If the count does not fit, only the beginning.
pub(super) fn cut_middle(text: &str, most: usize) -> Cow<'_, str> {
    let total = text.chars().count();
    if total <= most {
        return Cow::Borrowed(text);
    }
    let marker = |left_out: usize| format!("\n[… {left_out} of {total} characters left out …]\n");
    // The marker is longest when everything is removed.
    let Some(room) = most.checked_sub(marker(total).chars().count()) else {
        return Cow::Borrowed(head(text, most));
    };
    let from_end = room / 2;
    let from_start = room - from_end;
    let tail = text.char_indices().rev().take(from_end).last();
    let tail = tail.and_then(|(at, _)| text.get(at..)).unwrap_or_default();
    Cow::Owned([head(text, from_start), &marker(total - room), tail].concat())
}

/// Returns the first characters of a text.
pub(super) fn head(text: &str, most: usize) -> &str {
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// Returns the message with its results truncated, oldest first, until `excess` tokens are saved or
/// nothing is left to truncate; and the number of truncated results. Texts are truncated before
/// images are dropped.
pub(super) fn truncate_results(message: &ModelMessage, mut excess: u64) -> (ModelMessage, usize) {
    let mut answers: Vec<Option<CallAnswer>> = message.answers().to_vec();
    let mut shortened = vec![false; answers.len()];
    for cut in [cut_text, leave_out_media] {
        for (answer, shortened) in answers.iter_mut().zip(&mut shortened) {
            let Some(answer) = answer.as_mut().filter(|_| excess > 0) else { continue };
            let before = token_estimate::answer(answer);
            if let Some(shorter) = cut(answer, excess) {
                excess =
                    excess.saturating_sub(before.saturating_sub(token_estimate::answer(&shorter)));
                *answer = shorter;
                *shortened = true;
            }
        }
    }
    let turn = message.turn.clone();
    let mut copy = ModelMessage::new(turn, message.provider.clone(), message.model.clone());
    for (place, answer) in answers.into_iter().enumerate() {
        if let Some(answer) = answer {
            copy.answer(place, answer);
        }
    }
    (copy, shortened.iter().filter(|shortened| **shortened).count())
}

/// Returns the result with less text, by at least `excess` tokens if it has that many; `None` if
/// there is nothing to truncate.
fn cut_text(answer: &CallAnswer, excess: u64) -> Option<CallAnswer> {
    let members = answer.wire.as_object()?;
    let (key, largest) = members.iter().max_by_key(|(_, value)| token_estimate::json(value))?;
    let text = match largest {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        other => Cow::Owned(other.to_string()),
    };
    let length = text.chars().count();
    if length <= LEAST {
        return None;
    }
    let before = token_estimate::answer(answer);
    let mut wanted = excess;
    for attempt in 1..=ATTEMPTS {
        let most = length.saturating_sub(token_estimate::chars(wanted)).max(LEAST);
        let most = if attempt == ATTEMPTS { LEAST } else { most };
        let mut wire = members.clone();
        wire.insert(key.clone(), cut_middle(&text, most).into());
        let shorter = CallAnswer { wire: wire.into(), ..answer.clone() };
        let saved = before.saturating_sub(token_estimate::answer(&shorter));
        if saved >= excess || most == LEAST {
            return (saved > 0).then_some(shorter);
        }
        // JSON that became a string is longer because of its escapes.
        wanted += excess - saved;
    }
    None
}

/// Returns the result without its images and audio; `None` if it has none.
fn leave_out_media(answer: &CallAnswer, _excess: u64) -> Option<CallAnswer> {
    let count = answer.media.len();
    let mut wire = answer.wire.as_object().filter(|_| count > 0)?.clone();
    wire.insert("media_left_out".to_owned(), count.into());
    Some(CallAnswer { wire: wire.into(), media: Vec::new(), ..answer.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_goes_and_is_counted() {
        let text = "é".repeat(1_000);
        for most in [0, 1, 10, 60, 61, 500, 999, 1_000, 2_000] {
            let short = cut_middle(&text, most);
            assert!(short.chars().count() <= most, "{most}");
            if most >= 1_000 {
                assert_eq!(short, text);
            }
        }
        let short = cut_middle(&text, 100);
        let (_, rest) = short.split_once("[… ").unwrap();
        let left_out: usize = rest.split_once(' ').unwrap().0.parse().unwrap();
        assert_eq!(short.matches('é').count() + left_out, 1_000);
    }
}
