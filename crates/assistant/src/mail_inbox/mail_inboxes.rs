//! The inboxes of all owners.

use std::sync::Arc;

use toolcrib_core::{AssistantRowStore, Author, RowKind};

use super::model::{ArrivedMail, MailInbox, MailPosition, Problem, RECENT};
use crate::rows::{RowError, TypedRows, Writer};

/// Maximum characters of a reason.
const REASON_CHARS: usize = 300;

/// The inboxes of all owners. Clones share them.
#[derive(Clone)]
pub struct MailInboxes {
    rows: TypedRows<MailInbox>,
}

impl MailInboxes {
    /// Creates the inboxes in this store.
    #[must_use]
    pub fn new(store: Arc<dyn AssistantRowStore>) -> Self {
        Self { rows: TypedRows::new(store, RowKind::MailInbox) }
    }

    /// Returns all inboxes of an owner.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn all(&self, owner: &str) -> Result<Vec<MailInbox>, RowError> {
        Ok(self.rows.all(owner).await?.into_iter().map(|row| row.body).collect())
    }

    /// Returns the inbox of an account, if it is known.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn get(&self, owner: &str, address: &str) -> Result<Option<MailInbox>, RowError> {
        Ok(self.rows.get(owner, address).await?.map(|row| row.body))
    }

    /// Records the read position of an inbox, the number of unread mails, and the mails that
    /// arrived. If another process has already recorded a later position, that one is kept.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn record(
        &self,
        owner: &str,
        address: &str,
        position: MailPosition,
        unread: u64,
        arrived: &[ArrivedMail],
    ) -> Result<(), RowError> {
        let now = self.rows.now();
        self.rows
            .change(&writer(owner), address, |before| {
                let mut inbox = before.unwrap_or_else(|| empty(address));
                let is_known = |uid: u32| match inbox.position {
                    Some(known) => known.validity == position.validity && uid < known.next_uid,
                    None => false,
                };
                let new = arrived.iter().filter(|mail| !is_known(mail.uid)).cloned();
                let mut recent: Vec<ArrivedMail> =
                    new.map(|mail| ArrivedMail { seen_at: now, ..mail.shortened() }).collect();
                recent.sort_by_key(|mail| std::cmp::Reverse(mail.uid));
                recent.append(&mut inbox.recent);
                recent.truncate(RECENT);
                let is_ahead = inbox.position.is_some_and(|known| {
                    known.validity == position.validity && known.next_uid > position.next_uid
                });
                let position = if is_ahead { inbox.position } else { Some(position) };
                let inbox =
                    MailInbox { position, unread, read_at: now, problem: None, recent, ..inbox };
                Ok((Some(inbox), "read".to_owned(), ()))
            })
            .await
    }

    /// Records why an inbox cannot be read. The same reason is recorded once.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn record_problem(
        &self,
        owner: &str,
        address: &str,
        reason: &str,
    ) -> Result<(), RowError> {
        let reason: String = reason.chars().take(REASON_CHARS).collect();
        let since = self.rows.now();
        self.rows
            .change(&writer(owner), address, |before| {
                let mut inbox = before.unwrap_or_else(|| empty(address));
                if inbox.problem() != Some(&reason) {
                    inbox.problem = Some(Problem { reason: reason.clone(), since });
                }
                Ok((Some(inbox), "cannot be read".to_owned(), ()))
            })
            .await
    }

    /// Removes the inbox of an account that was removed.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn forget(&self, owner: &str, address: &str) -> Result<(), RowError> {
        self.rows.change(&writer(owner), address, |_| Ok((None, "removed".to_owned(), ()))).await
    }
}

fn empty(address: &str) -> MailInbox {
    MailInbox {
        address: address.to_owned(),
        position: None,
        unread: 0,
        read_at: 0,
        problem: None,
        recent: Vec::new(),
    }
}

fn writer(owner: &str) -> Writer {
    Writer { owner: owner.to_owned(), author: Author::person("inbox"), untrusted: None }
}
