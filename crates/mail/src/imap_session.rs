//! A mailbox that is logged in, and the commands that it answers.

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use async_imap::error::Error as ImapError;
use async_imap::types::{Fetch, NameAttribute};
use async_imap::{Client, Session};
use futures_util::{StreamExt as _, TryStreamExt as _};
use toolcrib_assistant::mail_inbox::MailPosition;
use toolcrib_net::SecureStream;

use crate::account::{Login, LoginSecret, Security};
use crate::connection::{Protocol, connect};
use crate::error::{MailError, server_words};
use crate::imap_guard::ImapGuard;
use crate::mailbox::MAX_MESSAGE;
use crate::oauth::Xoauth2;

/// Longest time of one operation.
const TIMEOUT: Duration = Duration::from_secs(25);
/// Longest time until a kept connection answers that it is alive.
const ALIVE: Duration = Duration::from_secs(3);
/// Folders that are looked through for the Sent folder.
const MAX_FOLDERS: usize = 2_000;
/// Rows of one fetch.
const MAX_ROWS: usize = 200;

pub(crate) type Guarded = ImapGuard<SecureStream>;

/// How the inbox is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selected {
    No,
    ReadOnly,
    ReadWrite,
}

/// A mailbox that is logged in.
pub(crate) struct ImapSession {
    pub(crate) session: Session<Guarded>,
    pub(crate) server: String,
    selected: Selected,
    /// Bytes that the largest answer had: its buffer stays as large.
    largest: usize,
}

/// Ends work that a server does not let end.
pub(crate) async fn within<T>(
    login: &Login,
    work: impl Future<Output = Result<T, MailError>>,
) -> Result<T, MailError> {
    tokio::time::timeout(TIMEOUT, work).await.unwrap_or_else(|_| {
        Err(MailError::Unreachable {
            server: login.account.imap.to_string(),
            reason: format!("no answer within {} s", TIMEOUT.as_secs()),
        })
    })
}

impl ImapSession {
    /// Connects and logs in.
    pub(crate) async fn open(login: &Login) -> Result<Self, MailError> {
        let server = login.account.imap.to_string();
        let stream = connect(&login.client, &login.account.imap, Protocol::Imap).await?;
        let mut client = Client::new(ImapGuard::new(stream, u64::from(MAX_MESSAGE) + 1_024));
        if login.account.imap.security() == Security::Tls {
            let greeting = client.read_response().await;
            let greeting = greeting.map_err(|error| failed(&server, &ImapError::Io(error)))?;
            greeting.ok_or_else(|| failed(&server, &ImapError::ConnectionLost))?;
        }
        let refused = |error: ImapError| match error {
            ImapError::No(words) | ImapError::Bad(words) => {
                MailError::Login { server: server.clone(), reason: server_words(&words) }
            }
            error => failed(&server, &error),
        };
        let user = login.account.user();
        let session = match &login.secret {
            LoginSecret::Password(password) => client.login(user, password).await,
            LoginSecret::Token(token) => {
                client.authenticate("XOAUTH2", Xoauth2::new(user, token)).await
            }
        };
        let session = session.map_err(|(error, _)| refused(error))?;
        Ok(Self { session, server, selected: Selected::No, largest: 0 })
    }

    /// Whether the server still answers. New mail is known afterwards.
    pub(crate) async fn is_alive(&mut self) -> bool {
        self.next();
        matches!(tokio::time::timeout(ALIVE, self.session.noop()).await, Ok(Ok(())))
    }

    /// Whether it is worth keeping: a connection that brought a large mail holds its memory.
    pub(crate) fn is_small(&self) -> bool {
        self.largest <= 1 << 20
    }

    /// Opens the inbox, for reading alone or for marking mails, too.
    pub(crate) async fn select_inbox(&mut self, for_writing: bool) -> Result<(), MailError> {
        let wanted = if for_writing { Selected::ReadWrite } else { Selected::ReadOnly };
        // What is open for writing can be read, too.
        if self.selected == Selected::ReadWrite || self.selected == wanted {
            return Ok(());
        }
        self.next();
        let selected = if for_writing {
            self.session.select("INBOX").await
        } else {
            self.session.examine("INBOX").await
        };
        selected.map_err(|error| self.failed(&error))?;
        self.selected = wanted;
        Ok(())
    }

    /// Opens the inbox for reading, and says where its end is now.
    pub(crate) async fn examine_inbox(&mut self) -> Result<MailPosition, MailError> {
        self.next();
        let found = self.session.examine("INBOX").await.map_err(|error| self.failed(&error))?;
        self.selected = Selected::ReadOnly;
        let next_uid = match found.uid_next {
            Some(next) => next,
            None => self.uids("UID *").await?.first().map_or(1, |uid| uid.saturating_add(1)),
        };
        Ok(MailPosition { validity: found.uid_validity.unwrap_or_default(), next_uid })
    }

    /// Whether the server says by itself that mail has arrived.
    pub(crate) async fn has_idle(&mut self) -> Result<bool, MailError> {
        self.next();
        let found = self.session.capabilities().await.map_err(|error| self.failed(&error))?;
        Ok(found.has_str("IDLE"))
    }

    /// Asks for what is new.
    pub(crate) async fn refresh(&mut self) -> Result<(), MailError> {
        self.next();
        self.session.noop().await.map_err(|error| self.failed(&error))
    }

    /// Waits until the server says that something changed, or says nothing for `longest`.
    pub(crate) async fn idle(self, longest: Duration) -> Result<Self, MailError> {
        let Self { session, server, selected, largest } = self;
        let mut idle = session.idle();
        idle.as_mut().next_command();
        let late = || failed(&server, &ImapError::ConnectionLost);
        let begun = tokio::time::timeout(TIMEOUT, idle.init()).await.map_err(|_| late())?;
        begun.map_err(|error| failed(&server, &error))?;
        {
            let (change, _stop) = idle.wait_with_timeout(longest);
            change.await.map_err(|error| failed(&server, &error))?;
        }
        // The end of a connection that was lost shows here, too.
        let ended = tokio::time::timeout(TIMEOUT, idle.done()).await.map_err(|_| late())?;
        let session = ended.map_err(|error| failed(&server, &error))?;
        Ok(Self { session, server, selected, largest })
    }

    /// The next command may bring as much as the last one.
    pub(crate) fn next(&mut self) {
        self.session.as_mut().next_command();
    }

    /// The numbers of mails that fit a query, the newest first.
    pub(crate) async fn uids(&mut self, query: &str) -> Result<Vec<u32>, MailError> {
        self.next();
        let charset = if query.is_ascii() { "" } else { "CHARSET UTF-8 " };
        let found = self.session.uid_search(format!("{charset}{query}")).await;
        let found: HashSet<u32> = found.map_err(|error| self.failed(&error))?;
        let mut found: Vec<u32> = found.into_iter().collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        Ok(found)
    }

    pub(crate) async fn fetch(&mut self, uids: &str, what: &str) -> Result<Vec<Fetch>, MailError> {
        self.next();
        let server = self.server.clone();
        let rows = self.session.uid_fetch(uids, what).await;
        let rows = rows.map_err(|error| failed(&server, &error))?;
        // A server may send rows that were not asked for, without end.
        let rows: Result<Vec<Fetch>, _> = rows.take(MAX_ROWS).try_collect().await;
        let rows = rows.map_err(|error| failed(&server, &error))?;
        let bytes = |row: &Fetch| row.body().map_or(0, <[u8]>::len);
        self.largest = self.largest.max(rows.iter().map(bytes).max().unwrap_or_default());
        Ok(rows)
    }

    /// Marks a mail of the inbox as read.
    pub(crate) async fn mark_read(&mut self, uid: u32) -> Result<(), MailError> {
        self.next();
        let server = self.server.clone();
        let stored = self.session.uid_store(uid.to_string(), "+FLAGS.SILENT (\\Seen)").await;
        let rows = stored.map_err(|error| failed(&server, &error))?;
        let rows: Result<Vec<Fetch>, _> = rows.take(MAX_ROWS).try_collect().await;
        rows.map_err(|error| failed(&server, &error))?;
        Ok(())
    }

    /// The folder that is marked as the one for sent mail (RFC 6154), or has a usual name.
    pub(crate) async fn sent_folder(&mut self) -> Result<Option<String>, MailError> {
        self.next();
        let server = self.server.clone();
        let folders = self.session.list(Some(""), Some("*")).await;
        let folders = folders.map_err(|error| failed(&server, &error))?;
        let folders: Result<Vec<_>, _> = folders.take(MAX_FOLDERS + 1).try_collect().await;
        let folders = folders.map_err(|error| failed(&server, &error))?;
        if folders.len() > MAX_FOLDERS {
            let reason = format!("it has more than {MAX_FOLDERS} folders");
            return Err(MailError::Answer { server, reason });
        }
        let marked = folders.iter().find(|one| one.attributes().contains(&NameAttribute::Sent));
        let usual = || {
            let names = ["sent", "sent items", "sent messages", "gesendet", "inbox.sent"];
            folders.iter().find(|one| names.contains(&one.name().to_lowercase().as_str()))
        };
        Ok(marked.or_else(usual).map(|folder| folder.name().to_owned()))
    }

    pub(crate) async fn close(mut self) {
        // What was asked for is there; a server that does not say goodbye changes nothing.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.session.logout()).await;
    }

    pub(crate) fn failed(&self, error: &ImapError) -> MailError {
        failed(&self.server, error)
    }
}

pub(crate) fn failed(server: &str, error: &ImapError) -> MailError {
    let server = server.to_owned();
    match error {
        ImapError::No(words) | ImapError::Bad(words) => {
            MailError::Refused { server, reason: server_words(words) }
        }
        ImapError::Io(error) if error.kind() != std::io::ErrorKind::InvalidData => {
            // Errors of the parser repeat the whole answer, which is text of a mail.
            let reason = if error.kind() == std::io::ErrorKind::Other {
                return MailError::Answer { server, reason: "it is not IMAP".to_owned() };
            } else {
                error.to_string()
            };
            MailError::Unreachable { server, reason }
        }
        ImapError::ConnectionLost => {
            MailError::Unreachable { server, reason: "the connection was lost".to_owned() }
        }
        ImapError::Io(error) => MailError::Answer { server, reason: error.to_string() },
        ImapError::Validate(_) => {
            MailError::Argument("User name and password are one line each.".to_owned())
        }
        _ => MailError::Answer { server, reason: "it is not IMAP".to_owned() },
    }
}
