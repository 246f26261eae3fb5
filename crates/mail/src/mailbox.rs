//! What is asked of an IMAP server: new mail, a search, one mail, a copy in the Sent folder.

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use async_imap::error::Error as ImapError;
use async_imap::types::{Fetch, Flag, NameAttribute};
use async_imap::{Client, Session};
use futures_util::{StreamExt as _, TryStreamExt as _};
use toolcrib_net::SecureStream;

use crate::account::{Login, Security};
use crate::connection::{Protocol, connect};
use crate::error::{MailError, server_words};
use crate::imap_guard::ImapGuard;
use crate::message::{Summary, summary};

/// Bytes that are read of one mail; the rest of a larger one is left on the server.
pub const MAX_MESSAGE: u32 = 32 << 20;
/// Mails that are listed.
pub(crate) const LISTED: usize = 20;
/// Longest time of one operation.
const TIMEOUT: Duration = Duration::from_secs(25);
/// Folders that are looked through for the Sent folder.
const MAX_FOLDERS: usize = 2_000;
/// Headers of the list, without reading the mail.
const HEADERS: &str = "(UID FLAGS RFC822.SIZE BODY.PEEK[HEADER.FIELDS (FROM TO SUBJECT DATE)])";

type Guarded = ImapGuard<SecureStream>;

/// A mailbox that is logged in.
struct Mailbox {
    session: Session<Guarded>,
    server: String,
}

/// One mail as it is on the server.
pub(crate) struct RawMail {
    pub(crate) bytes: Vec<u8>,
    /// Whether the server has more than was read.
    pub(crate) cut: bool,
    pub(crate) size: u32,
}

/// Logs in, and out again.
pub(crate) async fn test(login: &Login) -> Result<(), MailError> {
    let mailbox = within(login, open(login)).await?;
    mailbox.close().await;
    Ok(())
}

/// The newest mails that fit a query of IMAP, and how many there are.
pub(crate) async fn search(login: &Login, query: &str) -> Result<(Vec<Summary>, usize), MailError> {
    within(login, async {
        let mut mailbox = open(login).await?;
        mailbox.session.examine("INBOX").await.map_err(|error| mailbox.failed(&error))?;
        let found = mailbox.uids(query).await?;
        let listed = found.iter().take(LISTED).map(u32::to_string).collect::<Vec<_>>();
        let mut rows = Vec::new();
        if !listed.is_empty() {
            for fetched in mailbox.fetch(&listed.join(","), HEADERS).await? {
                let seen = fetched.flags().any(|flag| flag == Flag::Seen);
                let Some(uid) = fetched.uid else { continue };
                let size = fetched.size.unwrap_or_default();
                let headers = fetched.header().unwrap_or_default();
                rows.push(summary(headers, uid, seen, size));
            }
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.uid));
        rows.truncate(LISTED);
        mailbox.close().await;
        Ok((rows, found.len()))
    })
    .await
}

/// One mail of the inbox.
pub(crate) async fn read(login: &Login, uid: u32, mark_read: bool) -> Result<RawMail, MailError> {
    within(login, async {
        let mut mailbox = open(login).await?;
        let selected = if mark_read {
            mailbox.session.select("INBOX").await
        } else {
            mailbox.session.examine("INBOX").await
        };
        selected.map_err(|error| mailbox.failed(&error))?;
        let what = format!("(UID RFC822.SIZE BODY.PEEK[]<0.{MAX_MESSAGE}>)");
        let fetched = mailbox.fetch(&uid.to_string(), &what).await?;
        let found = fetched.iter().find(|fetched| fetched.uid == Some(uid));
        let Some((found, bytes)) = found.and_then(|found| Some((found, found.body()?))) else {
            return Err(MailError::NoMail(uid));
        };
        let size = found.size.unwrap_or_default();
        let cut = u64::from(size) > bytes.len() as u64;
        let mail = RawMail { bytes: bytes.to_vec(), cut, size };
        if mark_read {
            let stored = mailbox.session.uid_store(uid.to_string(), "+FLAGS.SILENT (\\Seen)").await;
            let rows = stored.map_err(|error| failed(&mailbox.server, &error))?;
            let rows: Result<Vec<Fetch>, _> = rows.try_collect().await;
            rows.map_err(|error| failed(&mailbox.server, &error))?;
        }
        mailbox.close().await;
        Ok(mail)
    })
    .await
}

/// The headers of the mail with this Message-ID, if it is in the inbox.
pub(crate) async fn thread_of(
    login: &Login,
    message_id: &str,
) -> Result<Option<Vec<u8>>, MailError> {
    within(login, async {
        let mut mailbox = open(login).await?;
        mailbox.session.examine("INBOX").await.map_err(|error| mailbox.failed(&error))?;
        let query = format!("HEADER Message-ID {}", quoted(message_id)?);
        let Some(uid) = mailbox.uids(&query).await?.into_iter().next() else { return Ok(None) };
        let what = "(UID BODY.PEEK[HEADER.FIELDS (REFERENCES IN-REPLY-TO MESSAGE-ID)])";
        let fetched = mailbox.fetch(&uid.to_string(), what).await?;
        let headers = fetched.first().and_then(Fetch::header).map(<[u8]>::to_vec);
        mailbox.close().await;
        Ok(headers)
    })
    .await
}

/// Puts a copy of a sent mail into the Sent folder.
pub(crate) async fn keep_sent(login: &Login, message: &[u8]) -> Result<(), MailError> {
    within(login, async {
        let mut mailbox = open(login).await?;
        let folder = mailbox.sent_folder().await?.ok_or_else(|| MailError::Refused {
            server: mailbox.server.clone(),
            reason: "it has no Sent folder".to_owned(),
        })?;
        mailbox.next();
        let stored = mailbox.session.append(&folder, Some("(\\Seen)"), None, message).await;
        stored.map_err(|error| mailbox.failed(&error))?;
        mailbox.close().await;
        Ok(())
    })
    .await
}

/// A text as a quoted string of IMAP.
pub(crate) fn quoted(text: &str) -> Result<String, MailError> {
    if text.chars().any(char::is_control) || text.len() > 500 {
        return Err(MailError::Argument(
            "A search text is one line of at most 500 characters.".to_owned(),
        ));
    }
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

async fn within<T>(
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

async fn open(login: &Login) -> Result<Mailbox, MailError> {
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
    let session = client.login(login.account.user(), &login.password).await;
    let session = session.map_err(|(error, _)| refused(error))?;
    Ok(Mailbox { session, server })
}

impl Mailbox {
    fn next(&mut self) {
        self.session.as_mut().next_command();
    }

    /// The numbers of mails that fit a query, the newest first.
    async fn uids(&mut self, query: &str) -> Result<Vec<u32>, MailError> {
        self.next();
        let charset = if query.is_ascii() { "" } else { "CHARSET UTF-8 " };
        let found = self.session.uid_search(format!("{charset}{query}")).await;
        let found: HashSet<u32> = found.map_err(|error| self.failed(&error))?;
        let mut found: Vec<u32> = found.into_iter().collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        Ok(found)
    }

    async fn fetch(&mut self, uids: &str, what: &str) -> Result<Vec<Fetch>, MailError> {
        self.next();
        let server = self.server.clone();
        let rows = self.session.uid_fetch(uids, what).await;
        let rows = rows.map_err(|error| failed(&server, &error))?;
        // A server may send rows that were not asked for, without end.
        let rows: Result<Vec<Fetch>, _> = rows.take(10 * LISTED).try_collect().await;
        rows.map_err(|error| failed(&server, &error))
    }

    /// The folder that is marked as the one for sent mail (RFC 6154), or has a usual name.
    async fn sent_folder(&mut self) -> Result<Option<String>, MailError> {
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

    async fn close(mut self) {
        // What was asked for is there; a server that does not say goodbye changes nothing.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.session.logout()).await;
    }

    fn failed(&self, error: &ImapError) -> MailError {
        failed(&self.server, error)
    }
}

fn failed(server: &str, error: &ImapError) -> MailError {
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
