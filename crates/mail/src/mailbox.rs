//! Requests to an IMAP server: new mail, a search, one mail, a copy in the Sent folder.

use async_imap::types::{Fetch, Flag};

use crate::account::Login;
use crate::error::MailError;
use crate::imap_session::{ImapSession, within};
use crate::message::{Summary, summary};

/// Bytes that are read of one mail.
pub const MAX_MESSAGE: u32 = 32 << 20;
/// Bytes that are read of a larger one: its headers and its text, as mails have them first.
const BEGINNING: u32 = 1 << 20;
/// Mails that are listed.
pub(crate) const LISTED: usize = 20;
/// Headers of the list, without reading the mail.
const HEADERS: &str = "(UID FLAGS RFC822.SIZE BODY.PEEK[HEADER.FIELDS (FROM TO SUBJECT DATE)])";

/// One mail as it is on the server.
pub(crate) struct RawMail {
    pub(crate) bytes: Vec<u8>,
    /// Whether the server has more than was read.
    pub(crate) cut: bool,
    pub(crate) size: u32,
}

/// Logs in, and out again.
pub(crate) async fn test(login: &Login) -> Result<(), MailError> {
    let session = within(login, ImapSession::open(login)).await?;
    session.close().await;
    Ok(())
}

/// The newest mails that fit a query of IMAP, and how many there are.
pub(crate) async fn search(login: &Login, query: &str) -> Result<(Vec<Summary>, usize), MailError> {
    within(login, async {
        let mut session = login.pool.take(login).await?;
        session.select_inbox(false).await?;
        let found = session.uids(query).await?;
        let listed = found.iter().take(LISTED).map(u32::to_string).collect::<Vec<_>>();
        let mut rows = Vec::new();
        if !listed.is_empty() {
            for fetched in session.fetch(&listed.join(","), HEADERS).await? {
                let seen = fetched.flags().any(|flag| flag == Flag::Seen);
                let Some(uid) = fetched.uid else { continue };
                let size = fetched.size.unwrap_or_default();
                let headers = fetched.header().unwrap_or_default();
                rows.push(summary(headers, uid, seen, size));
            }
        }
        login.pool.give(login, session).await;
        rows.sort_by_key(|row| std::cmp::Reverse(row.uid));
        rows.truncate(LISTED);
        Ok((rows, found.len()))
    })
    .await
}

/// One mail of the inbox. Of one that is larger than [`MAX_MESSAGE`] only the beginning is read, so
/// that memory does not grow with it.
pub(crate) async fn read(login: &Login, uid: u32, mark_read: bool) -> Result<RawMail, MailError> {
    within(login, async {
        let mut session = login.pool.take(login).await?;
        session.select_inbox(mark_read).await?;
        let number = uid.to_string();
        let sizes = session.fetch(&number, "(UID RFC822.SIZE)").await?;
        let Some(row) = sizes.iter().find(|row| row.uid == Some(uid)) else {
            login.pool.give(login, session).await;
            return Err(MailError::NoMail(uid));
        };
        let size = row.size.unwrap_or_default();
        let most = if size > MAX_MESSAGE { BEGINNING } else { MAX_MESSAGE };
        let fetched = session.fetch(&number, &format!("(UID BODY.PEEK[]<0.{most}>)")).await?;
        let found = fetched.iter().find(|fetched| fetched.uid == Some(uid));
        let bytes = found.and_then(Fetch::body).ok_or(MailError::NoMail(uid))?.to_vec();
        drop(fetched);
        let cut = u64::from(size) > bytes.len() as u64;
        if mark_read {
            session.mark_read(uid).await?;
        }
        login.pool.give(login, session).await;
        Ok(RawMail { bytes, cut, size })
    })
    .await
}

/// Some headers of a mail of the inbox.
pub(crate) async fn headers(login: &Login, uid: u32, names: &str) -> Result<Vec<u8>, MailError> {
    within(login, async {
        let mut session = login.pool.take(login).await?;
        session.select_inbox(false).await?;
        let what = format!("(UID BODY.PEEK[HEADER.FIELDS ({names})])");
        let fetched = session.fetch(&uid.to_string(), &what).await?;
        let found = fetched.iter().find(|fetched| fetched.uid == Some(uid));
        let headers = found.and_then(Fetch::header).map(<[u8]>::to_vec);
        login.pool.give(login, session).await;
        headers.ok_or(MailError::NoMail(uid))
    })
    .await
}

/// The headers of the mail with this Message-ID, if it is in the inbox.
pub(crate) async fn thread_of(
    login: &Login,
    message_id: &str,
) -> Result<Option<Vec<u8>>, MailError> {
    within(login, async {
        let mut session = login.pool.take(login).await?;
        session.select_inbox(false).await?;
        let query = format!("HEADER Message-ID {}", quoted(message_id)?);
        let mut headers = None;
        if let Some(uid) = session.uids(&query).await?.into_iter().next() {
            let what = "(UID BODY.PEEK[HEADER.FIELDS (REFERENCES IN-REPLY-TO MESSAGE-ID)])";
            let fetched = session.fetch(&uid.to_string(), what).await?;
            headers = fetched.first().and_then(Fetch::header).map(<[u8]>::to_vec);
        }
        login.pool.give(login, session).await;
        Ok(headers)
    })
    .await
}

/// Puts a copy of a sent mail into the Sent folder.
pub(crate) async fn keep_sent(login: &Login, message: &[u8]) -> Result<(), MailError> {
    within(login, async {
        let mut session = login.pool.take(login).await?;
        let folder = session.sent_folder().await?.ok_or_else(|| MailError::Refused {
            server: session.server.clone(),
            reason: "it has no Sent folder".to_owned(),
        })?;
        session.next();
        let stored = session.session.append(&folder, Some("(\\Seen)"), None, message).await;
        stored.map_err(|error| session.failed(&error))?;
        login.pool.give(login, session).await;
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
