//! Messages and notifications that programs of the person hand in, such as a phone: the heartbeat
//! looks at those that arrived since the last one that succeeded, so a failure loses none.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_core::{AssistantRowStore, Author, RowKind};

use super::prompt::{INBOUND_CHARS, Inbound, InboundKind};
use crate::rows::{RowError, TypedRows, Writer};

/// Arrivals of one kind that are kept; the oldest make room.
pub const MAX_ARRIVALS: usize = 100;
/// Characters of a sender and of a title.
const LINE_CHARS: usize = 300;

/// Something that arrived. Its texts come from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// Who or what sent it.
    pub from: String,
    /// Title; may be empty.
    pub title: String,
    /// The beginning of its text.
    pub text: String,
    /// Unix time in milliseconds.
    pub at: i64,
}

impl Arrival {
    /// An arrival with texts of a bounded length. The store sets its time.
    #[must_use]
    pub fn new(from: &str, title: &str, text: &str) -> Self {
        let cut = |text: &str, most: usize| -> String { text.trim().chars().take(most).collect() };
        Self {
            from: cut(from, LINE_CHARS),
            title: cut(title, LINE_CHARS),
            text: cut(text, INBOUND_CHARS),
            at: 0,
        }
    }

    fn to_inbound(&self, kind: InboundKind) -> Inbound {
        let Self { from, title, text, .. } = self.clone();
        Inbound { kind, from, title, text }
    }
}

/// The arrivals of one kind, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Queue {
    recent: Vec<Arrival>,
}

/// The arrivals of all owners. Clones share them.
#[derive(Clone)]
pub struct Arrivals {
    rows: TypedRows<Queue>,
}

impl Arrivals {
    /// Arrivals in this store.
    #[must_use]
    pub fn new(store: Arc<dyn AssistantRowStore>) -> Self {
        Self { rows: TypedRows::new(store, RowKind::Arrival) }
    }

    /// Adds an arrival; returns it with its time.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn add(
        &self,
        owner: &str,
        kind: InboundKind,
        arrival: Arrival,
    ) -> Result<Arrival, RowError> {
        let arrival = Arrival { at: self.rows.now(), ..arrival };
        let writer =
            Writer { owner: owner.to_owned(), author: Author::person("inbox"), untrusted: None };
        self.rows
            .change(&writer, kind.as_str(), |before| {
                let mut queue = before.unwrap_or_default();
                queue.recent.insert(0, arrival.clone());
                queue.recent.truncate(MAX_ARRIVALS);
                Ok((Some(queue), "arrived".to_owned(), arrival.clone()))
            })
            .await
    }

    /// What arrived after a time, newest first.
    ///
    /// # Errors
    /// [`RowError`].
    pub(super) async fn since(&self, owner: &str, time: i64) -> Result<Vec<Inbound>, RowError> {
        let mut found = Vec::new();
        for kind in [InboundKind::Message, InboundKind::Notification] {
            let row = self.rows.get(owner, kind.as_str()).await?;
            let queue = row.map(|row| row.body).unwrap_or_default();
            let new = queue.recent.iter().filter(|one| one.at > time);
            found.extend(new.map(|one| one.to_inbound(kind)));
        }
        Ok(found)
    }
}
