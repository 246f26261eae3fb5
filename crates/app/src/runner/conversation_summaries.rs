//! Cache of conversation summaries; the least recently used ones are removed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_agent::context::Summary;
use toolcrib_core::ConversationId;

/// Maximum number of conversations in the cache; a removed summary is generated again when needed.
const MAX_SUMMARIES: usize = 1_000;

/// Summaries by conversation, for the lifetime of the process.
#[derive(Default)]
pub(super) struct Summaries(Mutex<SummaryCache>);

#[derive(Default)]
struct SummaryCache {
    by_conversation: HashMap<ConversationId, Summary>,
    /// Conversations in order of use, oldest first.
    order: VecDeque<ConversationId>,
}

impl Summaries {
    fn lock(&self) -> MutexGuard<'_, SummaryCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, conversation: ConversationId, summary: Summary) {
        let mut kept = self.lock();
        if kept.by_conversation.insert(conversation, summary).is_some() {
            kept.order.retain(|one| *one != conversation);
        }
        kept.order.push_back(conversation);
        if kept.order.len() > MAX_SUMMARIES
            && let Some(first) = kept.order.pop_front()
        {
            kept.by_conversation.remove(&first);
        }
    }

    pub(super) fn get(&self, conversation: ConversationId) -> Option<Summary> {
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
        let all: Vec<ConversationId> =
            (0..=MAX_SUMMARIES).map(|_| ConversationId::fresh()).collect();
        summaries.insert(all[0], summary("old"));
        for conversation in &all[1..MAX_SUMMARIES] {
            summaries.insert(*conversation, summary("x"));
        }
        // Using a conversation moves it to the end.
        summaries.insert(all[0], summary("new"));
        summaries.insert(all[MAX_SUMMARIES], summary("last"));
        assert_eq!(summaries.get(all[0]), Some(summary("new")));
        assert_eq!(summaries.get(all[1]), None);
        assert_eq!(summaries.get(all[MAX_SUMMARIES]), Some(summary("last")));
        assert_eq!(summaries.lock().by_conversation.len(), MAX_SUMMARIES);
    }
}
