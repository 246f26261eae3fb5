//! Claims as leases on the server's clock, renewed while the process lives.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_postgres::Error;

use super::connection::{Connection, Connector};

/// How long a claim is valid without renewal. With the 5 s that a holder has after its lease was
/// found expired, and two recoveries of a daemon 5 s apart, the calls of a dead process are
/// recovered within 30 s.
pub(super) const LEASE: Duration = Duration::from_secs(15);
/// Renewals per lease.
const RENEWALS: u32 = 3;
/// Time limit for releasing the claims of a store that is being closed.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest pause between attempts while the server is unreachable.
const PAUSE: Duration = Duration::from_secs(1);
/// Time limit of one attempt. With the pause after it, the next one ends within the 5 s that a
/// holder has after its lease was found expired.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(3);

/// A fenced claim stays fenced; an expired claim that no process took over is renewed.
const RENEW: &str = "UPDATE workers
    SET renewed_at = clock_timestamp(), expires_at = greatest(expires_at, clock_timestamp() + $2::double precision * interval '1 second')
    WHERE epoch = ANY($1) AND state = 'working' RETURNING epoch";
const RELEASE: &str =
    "UPDATE workers SET state = 'released' WHERE epoch = ANY($1) AND state = 'working'";

/// Unreleased claims of this store.
#[derive(Clone)]
pub(super) struct Leases {
    held: Arc<Mutex<Vec<i64>>>,
    /// Claims that were not released, including lost ones.
    claimed: Arc<Mutex<Vec<i64>>>,
    lease: Duration,
}

/// Opens a connection for renewals, which use an asynchronous commit: a lease lost on power loss
/// expires, as intended.
async fn connect(connector: &Connector) -> Result<Connection, Error> {
    let link = connector.open().await?;
    link.batch_execute("SET synchronous_commit = off").await?;
    Ok(link)
}

impl Leases {
    pub(super) fn new(lease: Duration) -> Self {
        Self { held: Arc::default(), claimed: Arc::default(), lease }
    }

    /// Returns the validity of a claim in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.lease.as_secs_f64()
    }

    /// Returns the claims of this store.
    pub(super) fn held(&self) -> Vec<i64> {
        self.lock().clone()
    }

    /// Returns the claims that this store has had and not released.
    pub(super) fn claimed(&self) -> Vec<i64> {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn add(&self, epoch: i64) {
        self.lock().push(epoch);
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner).push(epoch);
    }

    pub(super) fn remove(&self, epoch: i64) {
        self.lock().retain(|held| *held != epoch);
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        claimed.retain(|claimed| *claimed != epoch);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<i64>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews while the store is open, on its own connection, so that waiting writes do not delay
    /// it.
    pub(super) async fn renew_until_closed(self, connector: Connector) {
        let every = self.lease / RENEWALS;
        let mut link: Option<Connection> = None;
        loop {
            sleep(if link.is_some() { every } else { every.min(PAUSE) }).await;
            let held = self.lock().clone();
            if held.is_empty() {
                continue;
            }
            // A hanging server must not delay renewal after the server is back.
            let former = link.take().filter(|link| !link.is_closed());
            let renewed = timeout(every.min(RENEWAL_TIMEOUT), async {
                let open = match former {
                    Some(open) => open,
                    None => connect(&connector).await?,
                };
                self.renew(&open, &held).await.map(|()| open)
            });
            // A failed connection is not used again.
            link = renewed.await.ok().and_then(Result::ok);
            if link.is_none() {
                connector.figures().failed_renewals.add(1);
            }
        }
    }

    async fn renew(&self, link: &Connection, held: &[i64]) -> Result<(), Error> {
        let rows = link.query(RENEW, &[&held, &self.seconds()]).await?;
        let mut renewed = Vec::with_capacity(rows.len());
        for row in rows {
            renewed.push(row.try_get::<_, i64>(0)?);
        }
        link.figures().renewals.add(renewed.len() as u64);
        // Drops claims that were taken over.
        self.lock().retain(|epoch| renewed.contains(epoch) || !held.contains(epoch));
        Ok(())
    }

    /// Releases all claims when the store is closed.
    pub(super) async fn release_all(&self, connector: &Connector) {
        let held = std::mem::take(&mut *self.lock());
        if held.is_empty() {
            return;
        }
        // Without the server the leases expire by themselves.
        let released = async {
            if let Ok(link) = connector.open().await {
                let _ = link.execute(RELEASE, &[&held]).await;
            }
        };
        let _ = timeout(RELEASE_TIMEOUT, released).await;
    }
}
