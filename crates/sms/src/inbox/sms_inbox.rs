//! The inboxes of all owners.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_assistant::{RowError, Step, Stored, TypedRows, Writer};
use toolcrib_core::{AssistantRowStore, Author, RowKind};

use super::model::{MAX_STORED, Position, StoredSms};
use crate::error::SmsError;
use crate::gateway::ReceivedSms;

/// Key of the row with the position.
const POSITION: &str = "position";
/// Maximum characters of a reason.
const REASON_CHARS: usize = 300;
/// Maximum attempts at a change while another process makes one.
const ATTEMPTS: usize = 8;

/// A row: the position, or one SMS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "lowercase")]
enum SmsRow {
    Position(Position),
    Sms(StoredSms),
}

/// The state of an inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboxStatus {
    /// Stored SMS.
    pub stored: usize,
    /// Stored SMS that were not read here.
    pub unread: usize,
    /// Why the phone cannot be read now.
    pub problem: Option<String>,
}

/// The inboxes of all owners. Clones share them.
#[derive(Clone)]
pub(crate) struct SmsInbox {
    rows: TypedRows<SmsRow>,
}

impl SmsInbox {
    /// Creates the inboxes in this store.
    pub(crate) fn new(store: Arc<dyn AssistantRowStore>) -> Self {
        Self { rows: TypedRows::new(store, RowKind::Sms) }
    }

    /// Returns the stored SMS, the newest first.
    pub(crate) async fn list(&self, owner: &str) -> Result<Vec<StoredSms>, RowError> {
        let rows = self.rows.all(owner).await?.into_iter();
        let mut all: Vec<StoredSms> = rows.filter_map(|row| as_sms(row.body)).collect();
        all.sort_by_key(|sms| std::cmp::Reverse(sms.id));
        Ok(all)
    }

    /// Returns one stored SMS.
    pub(crate) async fn get(&self, owner: &str, id: u64) -> Result<StoredSms, SmsError> {
        let row = self.rows.get(owner, &key(id)).await?;
        row.and_then(|row| as_sms(row.body)).ok_or(SmsError::NoSms(id))
    }

    /// Marks an SMS as read.
    pub(crate) async fn mark_read(&self, owner: &str, id: u64) -> Result<(), RowError> {
        self.rows
            .change(&writer(owner), &key(id), |before| {
                let after = before.map(|row| match row {
                    SmsRow::Sms(sms) => SmsRow::Sms(StoredSms { is_read: true, ..sms }),
                    other @ SmsRow::Position(_) => other,
                });
                Ok((after, "read".to_owned(), ()))
            })
            .await
    }

    /// Returns the state of the inbox.
    pub(crate) async fn status(&self, owner: &str) -> Result<InboxStatus, RowError> {
        let mut status = InboxStatus::default();
        for row in self.rows.all(owner).await? {
            match row.body {
                SmsRow::Position(position) => status.problem = position.problem,
                SmsRow::Sms(sms) => {
                    status.stored += 1;
                    status.unread += usize::from(!sms.is_read);
                }
            }
        }
        Ok(status)
    }

    /// Returns the time of the newest known SMS; `None` before the first opt-in.
    pub(crate) async fn newest(&self, owner: &str) -> Result<Option<i64>, RowError> {
        Ok(self.position(owner).await?.map(|(_, position)| position.newest))
    }

    /// Sets the position behind everything that the phone has now: none of it is new.
    pub(crate) async fn begin(
        &self,
        owner: &str,
        existing: &[ReceivedSms],
    ) -> Result<(), RowError> {
        let now = self.rows.now();
        self.rows
            .change(&writer(owner), POSITION, |before| {
                let before = before.and_then(as_position);
                let position = Position::behind(existing, now, before.as_ref());
                Ok((Some(SmsRow::Position(position)), "reading begins".to_owned(), ()))
            })
            .await
    }

    /// Stores the oldest SMS that are new, in one step with the position; returns them. It is
    /// called again until it returns none.
    pub(crate) async fn accept(
        &self,
        owner: &str,
        found: &[ReceivedSms],
    ) -> Result<Vec<StoredSms>, RowError> {
        for _ in 0..ATTEMPTS {
            let Some((revision, before)) = self.position(owner).await? else {
                return Ok(Vec::new());
            };
            let mut position = before.clone();
            position.problem = None;
            let new = position.take(found, self.rows.now());
            if position == before {
                return Ok(new);
            }
            let mut steps = vec![Step {
                key: POSITION.to_owned(),
                expected: Some(revision),
                body: Some(SmsRow::Position(position)),
            }];
            steps.extend(new.iter().map(added));
            steps.extend(self.removed(owner, new.len()).await?);
            if self.rows.write(&writer(owner), "arrived", steps).await? {
                return Ok(new);
            }
        }
        Err(RowError::Contended(POSITION.to_owned()))
    }

    /// Returns the steps that make room for new SMS.
    async fn removed(&self, owner: &str, new: usize) -> Result<Vec<Step<SmsRow>>, RowError> {
        if new == 0 {
            return Ok(Vec::new());
        }
        let rows = self.rows.all(owner).await?;
        // Keys sort as the numbers do.
        let sms: Vec<Stored<SmsRow>> =
            rows.into_iter().filter(|row| matches!(row.body, SmsRow::Sms(_))).collect();
        let over = (sms.len() + new).saturating_sub(MAX_STORED);
        let remove =
            |row: Stored<SmsRow>| Step { key: row.key, expected: Some(row.revision), body: None };
        Ok(sms.into_iter().take(over).map(remove).collect())
    }

    /// Records why the phone cannot be read. The same reason is recorded once.
    pub(crate) async fn record_problem(&self, owner: &str, reason: &str) -> Result<(), RowError> {
        let reason: String = reason.chars().take(REASON_CHARS).collect();
        self.rows
            .change(&writer(owner), POSITION, |before| {
                let after = before.map(|row| match row {
                    SmsRow::Position(mut position) => {
                        position.problem = Some(reason.clone());
                        SmsRow::Position(position)
                    }
                    other @ SmsRow::Sms(_) => other,
                });
                Ok((after, "cannot be read".to_owned(), ()))
            })
            .await
    }

    /// Removes everything of an owner.
    pub(crate) async fn forget(&self, owner: &str) -> Result<(), RowError> {
        for _ in 0..ATTEMPTS {
            let rows = self.rows.all(owner).await?;
            let remove = |row: Stored<SmsRow>| Step {
                key: row.key,
                expected: Some(row.revision),
                body: None,
            };
            let steps: Vec<_> = rows.into_iter().map(remove).collect();
            if steps.is_empty() || self.rows.write(&writer(owner), "removed", steps).await? {
                return Ok(());
            }
        }
        Err(RowError::Contended(POSITION.to_owned()))
    }

    async fn position(&self, owner: &str) -> Result<Option<(i64, Position)>, RowError> {
        let row = self.rows.get(owner, POSITION).await?;
        Ok(row.and_then(|row| Some((row.revision, as_position(row.body)?))))
    }
}

fn added(sms: &StoredSms) -> Step<SmsRow> {
    Step { key: key(sms.id), expected: None, body: Some(SmsRow::Sms(sms.clone())) }
}

fn key(id: u64) -> String {
    format!("sms-{id:012}")
}

fn as_sms(row: SmsRow) -> Option<StoredSms> {
    match row {
        SmsRow::Sms(sms) => Some(sms),
        SmsRow::Position(_) => None,
    }
}

fn as_position(row: SmsRow) -> Option<Position> {
    match row {
        SmsRow::Position(position) => Some(position),
        SmsRow::Sms(_) => None,
    }
}

fn writer(owner: &str) -> Writer {
    Writer { owner: owner.to_owned(), author: Author::person("inbox"), untrusted: None }
}
