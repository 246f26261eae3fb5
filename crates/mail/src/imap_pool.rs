//! Connections that are kept for the next question, one per account.
//!
//! Connecting, TLS and login take five round trips and a hash of the password; a question on a kept
//! connection takes two. A connection is kept for [`KEPT`], is asked whether it is alive before it
//! is used, and is never used with another password or token.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::account::{Login, LoginSecret, MailAccount};
use crate::error::MailError;
use crate::imap_session::ImapSession;

/// How long a connection is kept. Servers close after 30 minutes (RFC 3501, 5.4), routers forget
/// connections after a few.
const KEPT: Duration = Duration::from_secs(60);

/// The connections. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct ImapPool(Arc<Mutex<HashMap<String, Kept>>>);

struct Kept {
    session: ImapSession,
    account: MailAccount,
    secret: LoginSecret,
    since: Instant,
}

impl fmt::Debug for ImapPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ImapPool")
    }
}

impl ImapPool {
    /// A connection that answers: the kept one, or a new one.
    pub(crate) async fn take(&self, login: &Login) -> Result<ImapSession, MailError> {
        if let Some(mut session) = self.kept(login)
            && session.is_alive().await
        {
            return Ok(session);
        }
        ImapSession::open(login).await
    }

    fn kept(&self, login: &Login) -> Option<ImapSession> {
        let kept = self.lock().remove(&login.account.id)?;
        let is_same = kept.account == login.account && kept.secret == login.secret;
        (is_same && kept.since.elapsed() < KEPT).then_some(kept.session)
    }

    /// Keeps a connection whose last command has ended well.
    pub(crate) async fn give(&self, login: &Login, session: ImapSession) {
        if !session.is_small() {
            return session.close().await;
        }
        let id = login.account.id.clone();
        let kept = Kept {
            session,
            account: login.account.clone(),
            secret: login.secret.clone(),
            since: Instant::now(),
        };
        let other = self.lock().insert(id.clone(), kept);
        // Two questions at once had two connections.
        if let Some(other) = other {
            other.session.close().await;
        }
        let pool = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(KEPT).await;
            let Some(pool) = pool.upgrade().map(ImapPool) else { return };
            let is_old = |kept: &Kept| kept.since.elapsed() >= KEPT;
            let old = {
                let mut all = pool.lock();
                if all.get(&id).is_some_and(is_old) { all.remove(&id) } else { None }
            };
            if let Some(old) = old {
                old.session.close().await;
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
