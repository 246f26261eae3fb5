//! Exchanges: what a person says, with everything up to what a person says next.

use std::sync::Arc;

use toolcrib_providers::chat::{Message, UserKind};

/// Whether a person speaks here: typed, queued, or answering a question.
pub(super) fn begins(message: &Message) -> bool {
    matches!(
        message,
        Message::User(message)
            if matches!(message.kind, UserKind::Typed | UserKind::Queued | UserKind::Answer)
    )
}

/// Places from `from` on where an exchange begins, oldest first.
pub(super) fn starts(
    history: &[Arc<Message>],
    from: usize,
) -> impl DoubleEndedIterator<Item = usize> {
    let places = history.iter().enumerate().skip(from);
    places.filter(|(_, message)| begins(message)).map(|(place, _)| place)
}
