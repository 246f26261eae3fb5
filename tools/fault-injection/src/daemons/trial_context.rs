//! The options of a trial, and the state that its tasks share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use toolcrib_testkit::postgres_server::PostgresServer;

use super::client_log::ClientLog;
use super::cluster::Cluster;
use super::findings::Findings;

/// Name of the database.
pub(super) const DATABASE: &str = "crash";
/// How long a claim holds that is not renewed (`crates/store`, Postgres).
const LEASE: Duration = Duration::from_secs(15);
/// Between two looks of a daemon at what others left.
const RECOVER: Duration = Duration::from_secs(5);

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Daemons.
    pub(crate) daemons: u32,
    /// Calls that are sent; there is one run for fifty of them, at least four.
    pub(crate) calls: u32,
    /// Whether leases of those that were killed or paused are ended by hand, which saves the time
    /// that they take to run out.
    pub(crate) hurry: bool,
    /// What the choices follow from, but not who is faster.
    pub(crate) seed: u64,
}

impl Plan {
    pub(super) fn runs(&self) -> u32 {
        (self.calls / 50).max(4)
    }

    /// Time between two calls: in a hurry they last as long as everything that happens meanwhile.
    pub(super) fn pace(&self) -> Duration {
        if self.hurry {
            Duration::from_secs(12) / self.calls.max(1)
        } else {
            Duration::from_millis(5)
        }
    }

    /// How long a daemon is paused: others have dealt with what it left by then.
    pub(super) fn pause(&self) -> Duration {
        let looked = RECOVER + Duration::from_secs(2);
        if self.hurry { looked } else { LEASE + looked }
    }

    /// How long anything may take once nothing is killed any more: a lease, a look of the
    /// daemon that takes over, and time to do it.
    pub(super) fn patience(&self) -> Duration {
        let lease = if self.hurry { Duration::ZERO } else { LEASE };
        lease + RECOVER + Duration::from_secs(25)
    }
}

/// Everything that the tasks of one trial share.
pub(super) struct TrialContext {
    pub(super) plan: Plan,
    pub(super) server: PostgresServer,
    pub(super) fleet: Cluster,
    pub(super) ledger: PathBuf,
    pub(super) known: ClientLog,
    pub(super) tally: Findings,
    /// Calls that were sent.
    pub(super) sent: AtomicU32,
    /// When the kill switch was acknowledged and when it was let go, in microseconds since 1970.
    pub(super) pulls: Mutex<Vec<(u128, u128)>>,
    /// The pause is over, so that the kill switch can be pulled.
    pub(super) unpaused: AtomicBool,
    /// Told when something of the above has changed.
    pub(super) moved: Notify,
    /// Nothing is to be killed any more.
    pub(super) calm: AtomicBool,
    /// Everything is settled.
    pub(super) over: AtomicBool,
}

impl TrialContext {
    pub(super) fn record_kill_switch(&self, from: u128, until: u128) {
        self.pulls.lock().unwrap_or_else(PoisonError::into_inner).push((from, until));
    }

    pub(super) fn kill_switch_spans(&self) -> Vec<(u128, u128)> {
        self.pulls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
