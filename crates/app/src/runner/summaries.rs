//! Summaries of the conversations of this process: those that were talked in last.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_agent::context::Summary;
use toolcrib_core::ConversationId;

/// Conversations whose summaries are kept; one that is talked in again after so many others makes a new one.
const KEPT: usize = 1_000;

/// Summaries by conversation; a later process makes its own when it needs one.
#[derive(Default)]
pub(super) struct Summaries(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    by_conversation: HashMap<ConversationId, Summary>,
    /// Those that are kept, the one that was kept first in front.
    order: VecDeque<ConversationId>,
}

impl Summaries {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keep(&self, conversation: ConversationId, summary: Summary) {
        let mut kept = self.lock();
        if kept.by_conversation.insert(conversation, summary).is_some() {
            kept.order.retain(|one| *one != conversation);
        }
        kept.order.push_back(conversation);
        if kept.order.len() > KEPT
            && let Some(first) = kept.order.pop_front()
        {
            kept.by_conversation.remove(&first);
        }
    }

    pub(super) fn of(&self, conversation: ConversationId) -> Option<Summary> {
        self.lock().by_conversation.get(&conversation).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_does_not_keep_all_that_was_ever_said() {
        let summaries = Summaries::default();
        let summary = |text: &str| Summary { text: text.to_owned(), covers: 1 };
        let all: Vec<ConversationId> = (0..=KEPT).map(|_| ConversationId::fresh()).collect();
        summaries.keep(all[0], summary("old"));
        for conversation in &all[1..KEPT] {
            summaries.keep(*conversation, summary("x"));
        }
        // Whoever goes on talking is not the first to go.
        summaries.keep(all[0], summary("new"));
        summaries.keep(all[KEPT], summary("last"));
        assert_eq!(summaries.of(all[0]), Some(summary("new")));
        assert_eq!(summaries.of(all[1]), None);
        assert_eq!(summaries.of(all[KEPT]), Some(summary("last")));
        assert_eq!(summaries.lock().by_conversation.len(), KEPT);
    }
}
