//! The states of all accounts.

use std::sync::Arc;

use toolcrib_core::{AssistantRowStore, Author, RowKind};

use super::accept::{Accepted, InboundBatch};
use super::model::ChannelState;
use crate::rows::{RowError, TypedRows, Writer};

/// Maximum characters of a reason.
const REASON_CHARS: usize = 300;

/// The states of all accounts. Clones share them.
#[derive(Clone)]
pub struct ChatChannels {
    rows: TypedRows<ChannelState>,
}

impl ChatChannels {
    /// Creates the states in this store.
    #[must_use]
    pub fn new(store: Arc<dyn AssistantRowStore>) -> Self {
        Self { rows: TypedRows::new(store, RowKind::ChatChannel) }
    }

    /// Returns the state of an account; empty if nothing was received yet.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn get(&self, owner: &str, account: &str) -> Result<ChannelState, RowError> {
        Ok(self.rows.get(owner, account).await?.map(|row| row.body).unwrap_or_default())
    }

    /// Adds a batch that was requested with the position `from`, in one step with its position.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn accept(
        &self,
        owner: &str,
        account: &str,
        (from, batch): (Option<&str>, &InboundBatch),
        is_allowed: impl Fn(&str) -> bool,
    ) -> Result<Accepted, RowError> {
        let now = self.rows.now();
        self.change(owner, account, |state| {
            let before = state.clone();
            let accepted = state.accept(from, batch, &is_allowed, now);
            // A position that has not changed is not worth a write.
            let is_idle = batch.events.is_empty()
                && before.cursor == state.cursor
                && before.problem.is_none();
            if is_idle {
                *state = before;
            }
            accepted
        })
        .await
    }

    /// Records why the service cannot be read. The same reason is recorded once.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn record_problem(
        &self,
        owner: &str,
        account: &str,
        reason: &str,
    ) -> Result<(), RowError> {
        let reason: String = reason.chars().take(REASON_CHARS).collect();
        let now = self.rows.now();
        self.change(owner, account, |state| {
            if state.problem.as_ref() != Some(&reason) {
                state.problem = Some(reason.clone());
                state.log(now, "", &reason);
            }
        })
        .await
    }

    /// Changes the state of an account.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn change<R>(
        &self,
        owner: &str,
        account: &str,
        change: impl Fn(&mut ChannelState) -> R,
    ) -> Result<R, RowError> {
        self.rows
            .change(&writer(owner), account, |before| {
                let mut state = before.unwrap_or_default();
                let answer = change(&mut state);
                Ok((Some(state), "changed".to_owned(), answer))
            })
            .await
    }

    /// Removes the state of an account that was removed.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn forget(&self, owner: &str, account: &str) -> Result<(), RowError> {
        self.rows.change(&writer(owner), account, |_| Ok((None, "removed".to_owned(), ()))).await
    }
}

fn writer(owner: &str) -> Writer {
    Writer { owner: owner.to_owned(), author: Author::person("channel"), untrusted: None }
}
