//! Postgres: the daemons that share the database, and the figures of this one.

use toolcrib_core::store::{DatabaseFigures, Member, StoreMonitor};
use toolcrib_core::{BoxFuture, StoreError};

use super::super::PostgresStore;
use super::{number, text};

/// Daemons of the last day. One whose lease has expired is shown as such, although its calls are
/// only taken over after it was suspected for five seconds. `released` daemons have ended normally,
/// and `fenced` claims were taken over.
const MEMBERS: &str = "SELECT epoch, host, pid, version,
        (extract(epoch FROM started_at) * 1000)::bigint, (extract(epoch FROM renewed_at) * 1000)::bigint,
        expires_at > clock_timestamp()
    FROM workers
    WHERE host IS NOT NULL AND state = 'working' AND expires_at > clock_timestamp() - interval '1 day'
    ORDER BY started_at, epoch";

impl StoreMonitor for PostgresStore {
    fn members(&self) -> BoxFuture<'_, Result<Vec<Member>, StoreError>> {
        Box::pin(self.fetch_all(MEMBERS, &[], |row| {
            Ok(Member {
                epoch: number(row, 0)?,
                host: text(row, 1)?,
                pid: number(row, 2)?,
                version: text(row, 3)?,
                started_at: row.try_get(4)?,
                heartbeat_at: row.try_get(5)?,
                is_alive: row.try_get(6)?,
            })
        }))
    }

    fn figures(&self) -> Option<DatabaseFigures> {
        Some(self.inner.readers.figures())
    }
}
