//! The claims of one store: leases by the server's clock, renewed while the process lives.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use tokio_postgres::Error;

use super::link::{Connector, Link};

/// How long a claim holds without being renewed (reliability A3: nothing is stuck for longer than 30 s).
pub(super) const LEASE: Duration = Duration::from_secs(15);
/// Renewals in the time of one lease.
const RENEWALS: u32 = 3;
/// Between tries when the server cannot be reached, at most.
const PAUSE: Duration = Duration::from_secs(1);

/// One that was fenced off stays so; one that ran out and that nobody has taken over goes on.
const RENEW: &str = "UPDATE workers
    SET expires_at = greatest(expires_at, clock_timestamp() + $2::double precision * interval '1 second')
    WHERE epoch = ANY($1) AND state = 'working' RETURNING epoch";
const RELEASE: &str =
    "UPDATE workers SET state = 'released' WHERE epoch = ANY($1) AND state = 'working'";

/// Claims of this store that are not released.
#[derive(Clone)]
pub(super) struct Leases {
    held: Arc<Mutex<Vec<i64>>>,
    lease: Duration,
}

/// A lease that a power cut takes away runs out, as it should: its renewals wait for no disk and no standby.
async fn connect(connector: &Connector) -> Result<Link, Error> {
    let link = connector.link().await?;
    link.run("SET synchronous_commit = off").await?;
    Ok(link)
}

impl Leases {
    pub(super) fn new(lease: Duration) -> Self {
        Self { held: Arc::default(), lease }
    }

    /// Seconds that a claim holds.
    pub(super) fn seconds(&self) -> f64 {
        self.lease.as_secs_f64()
    }

    pub(super) fn add(&self, epoch: i64) {
        self.lock().push(epoch);
    }

    pub(super) fn remove(&self, epoch: i64) {
        self.lock().retain(|held| *held != epoch);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<i64>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews for as long as the store is open, on a connection of its own: writes that wait do not hold it up.
    pub(super) async fn keep(self, connector: Connector) {
        let every = self.lease / RENEWALS;
        let mut link: Option<Link> = None;
        loop {
            sleep(if link.is_some() { every } else { every.min(PAUSE) }).await;
            let held = self.lock().clone();
            if held.is_empty() {
                continue;
            }
            link = match link.take().filter(|link| !link.is_closed()) {
                Some(link) => Some(link),
                None => connect(&connector).await.ok(),
            };
            if let Some(open) = &link
                && self.renew(open, &held).await.is_err()
            {
                link = None;
            }
        }
    }

    async fn renew(&self, link: &Link, held: &[i64]) -> Result<(), Error> {
        let rows = link.query(RENEW, &[&held, &self.seconds()]).await?;
        let mut renewed = Vec::with_capacity(rows.len());
        for row in rows {
            renewed.push(row.try_get::<_, i64>(0)?);
        }
        // What was taken over is gone for good.
        self.lock().retain(|epoch| renewed.contains(epoch) || !held.contains(epoch));
        Ok(())
    }

    /// Gives back everything, when the store is closed.
    pub(super) async fn release_all(&self, connector: &Connector) {
        let held = std::mem::take(&mut *self.lock());
        if held.is_empty() {
            return;
        }
        // Without the server they run out by themselves.
        if let Ok(link) = connector.link().await {
            let _ = link.execute(RELEASE, &[&held]).await;
        }
    }
}
