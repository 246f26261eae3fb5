//! Waits for new mail of one account: IDLE (RFC 2177) where the server has it, a look each minute
//! elsewhere, and again after a lost connection.

use std::convert::Infallible;
use std::time::Duration;

use async_imap::types::{Fetch, Flag};
use tokio::time::Instant;
use toolcrib_assistant::mail_inbox::{ArrivedMail, MailPosition, RECENT, TEXT_CHARS};
use toolcrib_core::BoxFuture;

use crate::account::{MailAccount, MailAccounts};
use crate::error::MailError;
use crate::imap_session::{ImapSession, within};
use crate::message::parse;

/// What is read of a new mail: headers, and the beginning of its text.
const NEW: &str = "(UID FLAGS BODY.PEEK[]<0.16384>)";
/// Shortest time between two looks, whatever a server says while it is idle.
const SHORTEST: Duration = Duration::from_secs(1);

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub struct WatchTimes {
    /// Longest time without a word of the server. Routers forget connections after about 10
    /// minutes; RFC 2177 allows 29.
    pub idle: Duration,
    /// Time between two looks at a server without IDLE.
    pub poll: Duration,
    /// Shortest time between two batches of new mail: mail that comes faster is one batch.
    pub batch: Duration,
    /// First wait after a lost connection; it doubles up to `longest_retry`.
    pub retry: Duration,
    /// Longest wait after a lost connection.
    pub longest_retry: Duration,
    /// Wait after a refused password: many attempts would lock the account.
    pub refused: Duration,
}

impl Default for WatchTimes {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(9 * 60),
            poll: Duration::from_secs(60),
            batch: Duration::from_secs(30),
            retry: Duration::from_secs(1),
            longest_retry: Duration::from_secs(300),
            refused: Duration::from_secs(30 * 60),
        }
    }
}

/// What was found in an inbox.
#[derive(Debug, Clone)]
pub struct NewMail {
    /// How far it is read now.
    pub position: MailPosition,
    /// Unread mails in all.
    pub unread: u64,
    /// Unread mail that arrived, the newest first, at most 20.
    pub arrived: Vec<ArrivedMail>,
    /// Mails that arrived besides.
    pub more: usize,
}

/// Is told about an inbox.
pub trait InboxListener: Send + Sync {
    /// How far the inbox was read; `None` = what is there now is not new. After an error the inbox
    /// is not read yet.
    fn position<'a>(
        &'a self,
        account: &'a MailAccount,
    ) -> BoxFuture<'a, Result<Option<MailPosition>, String>>;

    /// Something was found, or the inbox was looked at for the first time. After an error the same
    /// is found again.
    fn found<'a>(
        &'a self,
        account: &'a MailAccount,
        new: NewMail,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// The inbox cannot be read now.
    fn problem<'a>(&'a self, account: &'a MailAccount, error: &'a MailError) -> BoxFuture<'a, ()>;
}

/// Watches an inbox until the future is dropped.
pub async fn watch_inbox(
    accounts: &MailAccounts,
    account: &MailAccount,
    listener: &dyn InboxListener,
    times: WatchTimes,
) -> Infallible {
    let mut failures = 0_u32;
    loop {
        let mut watch = Watch { accounts, account, listener, times, failures: &mut failures };
        let Err(error) = watch.follow().await;
        let wait = match &error {
            MailError::Login { .. } | MailError::NoPassword(_) => times.refused,
            _ => times.retry.saturating_mul(1 << failures.min(16)).min(times.longest_retry),
        };
        failures = failures.saturating_add(1);
        // A connection that is lost now and then is no news; one that does not come back is.
        if failures > 2 || wait == times.refused {
            listener.problem(account, &error).await;
        }
        tokio::time::sleep(wait).await;
    }
}

struct Watch<'a> {
    accounts: &'a MailAccounts,
    account: &'a MailAccount,
    listener: &'a dyn InboxListener,
    times: WatchTimes,
    failures: &'a mut u32,
}

impl Watch<'_> {
    /// One connection, until it fails.
    async fn follow(&mut self) -> Result<Infallible, MailError> {
        let login = self.accounts.login(self.account.clone()).await?;
        let mut session = within(&login, ImapSession::open(&login)).await?;
        let can_idle = within(&login, session.has_idle()).await?;
        let now = within(&login, session.examine_inbox()).await?;
        let known = self.listener.position(self.account).await.map_err(MailError::Unusable)?;
        let mut position = known.filter(|known| known.validity == now.validity).unwrap_or(now);
        // The first look is reported without mail, so that the inbox is known.
        let mut is_first = true;
        loop {
            let started = Instant::now();
            let new = within(&login, look(&mut session, position)).await?;
            let has_mail = !new.arrived.is_empty();
            if is_first || new.position != position {
                let next = new.position;
                self.listener.found(self.account, new).await.map_err(MailError::Unusable)?;
                position = next;
            }
            (is_first, *self.failures) = (false, 0);
            if can_idle {
                session = session.idle(self.times.idle).await?;
            } else {
                tokio::time::sleep(self.times.poll).await;
            }
            let batch = self.times.batch;
            let pause = if has_mail { batch } else { SHORTEST.min(batch) };
            tokio::time::sleep_until(started + pause).await;
            if !can_idle {
                within(&login, session.refresh()).await?;
            }
        }
    }
}

/// What arrived behind a position.
async fn look(session: &mut ImapSession, from: MailPosition) -> Result<NewMail, MailError> {
    let unread = session.uids("UNSEEN").await?.len() as u64;
    let mut uids = session.uids(&format!("UID {}:*", from.next_uid)).await?;
    // `N:*` names the last mail even if its number is smaller (RFC 3501, 6.4.8).
    uids.retain(|uid| *uid >= from.next_uid);
    let next_uid = uids.first().map_or(from.next_uid, |uid| uid.saturating_add(1));
    let position = MailPosition { next_uid, ..from };
    let read: Vec<String> = uids.iter().take(RECENT).map(u32::to_string).collect();
    let mut arrived = Vec::new();
    if !read.is_empty() {
        let rows = session.fetch(&read.join(","), NEW).await?;
        arrived = rows.iter().filter_map(|row| arrived_mail(row, &uids)).collect();
    }
    arrived.sort_by_key(|mail: &ArrivedMail| std::cmp::Reverse(mail.uid));
    arrived.dedup_by_key(|mail| mail.uid);
    arrived.truncate(RECENT);
    Ok(NewMail { position, unread, arrived, more: uids.len().saturating_sub(RECENT) })
}

/// A new mail that is unread; rows that were not asked for are left out.
fn arrived_mail(row: &Fetch, asked: &[u32]) -> Option<ArrivedMail> {
    let uid = row.uid.filter(|uid| asked.contains(uid))?;
    if row.flags().any(|flag| flag == Flag::Seen) {
        return None;
    }
    let mail = parse(row.body()?).mail;
    let text = mail.text.chars().take(TEXT_CHARS).collect();
    Some(ArrivedMail { uid, from: mail.from, subject: mail.subject, text, seen_at: 0 })
}
