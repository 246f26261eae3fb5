//! Exchanges: a message of a person, with everything up to the next one.

use std::sync::Arc;

use toolcrib_providers::conversation::{Message, UserKind};

/// Returns whether the message is from a person: typed, queued, or an answer to a question.
pub(super) fn begins(message: &Message) -> bool {
    matches!(
        message,
        Message::User(message)
            if matches!(message.kind, UserKind::Typed | UserKind::Queued | UserKind::Answer)
    )
}

/// Indexes from `from` on at which an exchange begins, oldest first.
pub(super) fn starts(
    history: &[Arc<Message>],
    from: usize,
) -> impl DoubleEndedIterator<Item = usize> {
    let places = history.iter().enumerate().skip(from);
    places.filter(|(_, message)| begins(message)).map(|(place, _)| place)
}
